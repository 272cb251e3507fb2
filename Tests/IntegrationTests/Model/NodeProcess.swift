import Foundation
import Testing

/// A node that can be killed, and restarted on its port.
actor NodeProcess {
    nonisolated let port: Int
    private let database: TestDatabase
    private let environment: [String: String]
    private var process: ServeProcess

    private static let usual = [
        "POSTLINE_RATE_LIMITS": "off", "POSTLINE_ACCESS_TOKEN_SECONDS": "86400",
        // A small queue, so that a slow reader lags within the run; frequent pings, so that cursors come by them too.
        "POSTLINE_MAX_QUEUE_BYTES": "16384", "POSTLINE_PING_SECONDS": "1",
    ]

    /// Starts a node on a port that it keeps.
    ///
    /// - Parameter standby: The standby that the node reads from, or nil.
    init(_ database: TestDatabase, standby: TestDatabase? = nil) async throws {
        self.database = database
        environment = Self.usual.merging(standby.map { ["POSTLINE_REPLICA_DATABASE_URL": $0.url] } ?? [:]) { $1 }
        port = try await unusedPort()
        process = try await ServeProcess.start(database, port: port, environment: environment)
    }

    /// Restarts the node, and returns when it serves.
    func start() async throws {
        process = try await ServeProcess.start(database, port: port, environment: environment)
    }

    /// Kills the node with -9, and returns when it has exited.
    func kill() async throws {
        try await process.kill()
    }

    /// Stops the node with SIGTERM, and returns when it has finished its requests and exited.
    func stop() async throws {
        _ = try await process.stop()
    }

    /// The errors that it logged since its start.
    var errors: [String] {
        process.command.errors.split(separator: "\n").filter { $0.contains(" error ") }.map(String.init)
    }
}
