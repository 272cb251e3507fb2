import NIOCore
import NIOPosix

/// `nats-server` with default settings on its own port.
enum NatsServer {
    /// - Parameter body: receives the port once the server accepts connections. The server ends when it returns.
    /// - Throws: `BenchError` if the server cannot be started.
    static func run(_ body: (_ port: Int) async throws -> Void) async throws {
        let port = try await BenchNode.freePort()
        try await BenchProcess.run("nats-server", ["--addr", "127.0.0.1", "--port", "\(port)", "--log", "/dev/null"]) {
            try await awaitServer(port: port)
            try await body(port)
        }
    }

    private static func awaitServer(port: Int) async throws {
        for _ in 0..<50 {
            let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            if let channel = try? await bootstrap.connect(host: "127.0.0.1", port: port).get() {
                return try await channel.close().get()
            }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw BenchError("nats-server does not serve. Is it installed? `make bench` installs it where it can.")
    }
}
