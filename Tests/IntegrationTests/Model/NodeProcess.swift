import Foundation
import Testing

/// A node that can be killed, and started again at its port.
actor NodeProcess {
    nonisolated let port: Int
    private let database: TestDatabase
    private let environment: [String: String]
    private var process: ServeProcess

    private static let usual = [
        "POSTLINE_RATE_LIMITS": "off", "POSTLINE_ACCESS_TOKEN_SECONDS": "86400",
        // Small, so that one who does not read falls behind within the run; short, so that cursors come by pings too.
        "POSTLINE_MAX_QUEUE_BYTES": "16384", "POSTLINE_PING_SECONDS": "1",
    ]

    /// Starts a node on that database at a port that stays its own.
    ///
    /// - Parameter standby: of it, from which the node reads; nil: none.
    init(_ database: TestDatabase, standby: TestDatabase? = nil) async throws {
        self.database = database
        environment = Self.usual.merging(standby.map { ["POSTLINE_REPLICA_DATABASE_URL": $0.url] } ?? [:]) { $1 }
        port = try await unsharedPort()
        process = try await ServeProcess.start(database, port: port, environment: environment)
    }

    /// Starts it again, and returns when it serves.
    func start() async throws {
        process = try await ServeProcess.start(database, port: port, environment: environment)
    }

    /// Kills it with -9, and returns when it is gone.
    func kill() async throws {
        try await process.kill()
    }

    /// Tells it to stop, as whoever restarts a service does, and returns when it is gone, with what was to do done.
    func stop() async throws {
        _ = try await process.stop()
    }

    /// The errors in its log since the start.
    var errors: [String] {
        process.command.errors.split(separator: "\n").filter { $0.contains(" error ") }.map(String.init)
    }
}
