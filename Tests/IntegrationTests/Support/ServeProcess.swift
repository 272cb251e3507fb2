import Foundation
import NIOCore
import NIOPosix

/// `postline serve` in a process of its own, which has said that it serves.
struct ServeProcess: Sendable {
    let command: Command
    let port: Int

    /// - Parameter environment: goes before what a server needs.
    static func start(_ database: TestDatabase, environment: [String: String] = [:]) async throws -> ServeProcess {
        let port = try await freePort()
        let needed = [
            "POSTLINE_DATABASE_URL": database.url, "POSTLINE_JWT_SECRET": TestNode.secret, "POSTLINE_PORT": "\(port)",
            "POSTLINE_RATE_LIMITS": "off",
        ]
        let command = try Command(["serve"], environment: needed.merging(environment) { $1 })
        do {
            try await command.complains("\(port)")
        } catch {
            command.signal(SIGKILL)
            throw error
        }
        return ServeProcess(command: command, port: port)
    }

    /// A port that was free a moment ago: `serve` is told one, and does not choose.
    private static func freePort() async throws -> Int {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = channel.localAddress?.port ?? 0
        try await channel.close().get()
        return port
    }
}
