/// `nats-server`, as it is by default, on a port of its own.
enum NatsServer {
    /// - Throws: `BenchError` where it cannot be started.
    static func run(_ body: (_ port: Int) async throws -> Void) async throws {
        let port = try await BenchNode.freePort()
        try await BenchProcess.run("nats-server", ["--addr", "127.0.0.1", "--port", "\(port)", "--log", "/dev/null"]) {
            try await body(port)
        }
    }
}
