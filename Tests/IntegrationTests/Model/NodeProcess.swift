import Foundation
import Messaging
import Testing

/// A node as a process of its own, which can be killed, and started again at its port.
actor NodeProcess {
    let port: Int
    private let environment: [String: String]
    private var command: Command?

    /// Starts a node on that database at a port of the system's choice.
    init(_ database: TestDatabase) async throws {
        environment = [
            "POSTLINE_DATABASE_URL": database.url, "POSTLINE_JWT_SECRET": TestNode.secret,
            "POSTLINE_RATE_LIMITS": "off", "POSTLINE_ACCESS_TOKEN_SECONDS": "86400",
            // Small, so that one who does not read falls behind within the run; short, so that cursors come by pings too.
            "POSTLINE_MAX_QUEUE_BYTES": "16384", "POSTLINE_PING_SECONDS": "1",
        ]
        let first = try Command(["serve", "--port", "0"], environment: environment)
        let said = try await first.complains("serving lines")
        port = try #require(said.firstMatch(of: /port=(\d+)/).flatMap { Int($0.1) })
        command = first
    }

    /// Starts it again, and returns when it serves.
    func start() async throws {
        let again = try Command(["serve", "--port", "\(port)"], environment: environment)
        command = again
        try await again.complains("serving lines")
    }

    /// Kills it with -9, and returns when it is gone.
    func kill() async throws {
        command?.signal(SIGKILL)
        _ = try await command?.exit()
    }

    /// What it logged as an error.
    var errors: [String] {
        (command?.errors ?? "").split(separator: "\n").filter { $0.contains(" error ") }.map(String.init)
    }
}
