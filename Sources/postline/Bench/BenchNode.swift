internal import LineClient
internal import NIOCore
internal import NIOPosix
internal import PrivatePostgres
internal import Subprocess

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// A node that is measured.
enum BenchNode {
    /// A node in a process of its own: this program, serving.
    ///
    /// - Parameter body: gets its ports, once it serves; when it returns, the node ends.
    static func run(
        on postgres: PrivatePostgres, secret: String, _ body: (_ port: Int, _ operationsPort: Int) async throws -> Void
    ) async throws {
        let port = try await freePort()
        let operationsPort = try await freePort()
        let environment = Environment.inherit.updating([
            "POSTLINE_DATABASE_URL": await postgres.url(user: "postline", database: "postline"),
            "POSTLINE_ADMIN_DATABASE_URL": await postgres.url(database: "postline"),
            "POSTLINE_LISTEN_DATABASE_URL": "", "POSTLINE_HOST": "127.0.0.1", "POSTLINE_PORT": "\(port)",
            "POSTLINE_OPERATIONS_PORT": "\(operationsPort)", "POSTLINE_AUTH": "builtin",
            "POSTLINE_JWT_SECRET": secret, "POSTLINE_RATE_LIMITS": "off",
            "POSTLINE_LOG_LEVEL": "warning",
        ])
        var options = PlatformOptions()
        // A Ctrl-C ends the bench, and that ends the node: the shell tells it to stop when its own input ends, which
        // it does with this process, however that goes.
        options.createSession = true
        let script = """
            "$0" serve --migrate & node=$!; cat >/dev/null; kill -TERM $node
            (sleep 15; kill -KILL $node) 2>/dev/null & wait $node; status=$?; kill $!; exit $status
            """
        let result = try await Subprocess.run(
            .name("sh"), arguments: ["-c", script, ownPath], environment: environment, platformOptions: options,
            input: .inputWriter, output: .discarded, error: .currentStandardError
        ) { node -> (any Error)? in
            // Thrown only when the node has ended: a closure that throws has its process killed, the shell before the
            // node that it is to stop.
            var failure: (any Error)?
            do {
                try await awaitNode(port: port)
                try await body(port, operationsPort)
            } catch {
                failure = error
            }
            try await node.standardInputWriter.finish()
            return failure
        }
        if let failure = result.closureResult { throw failure }
        guard result.terminationStatus.isSuccess else {
            throw BenchError("The node did not end well: \(result.terminationStatus).")
        }
    }

    /// Returns when the node says hello.
    private static func awaitNode(port: Int) async throws {
        var last: (any Error)?
        for _ in 0..<300 {
            do {
                return await (try LineClient.connect(host: "127.0.0.1", port: port)).close()
            } catch {
                last = error
                try await Task.sleep(for: .milliseconds(100))
            }
        }
        throw BenchError("The node does not serve: \(last.map { "\($0)" } ?? "it is silent").")
    }

    /// A port that was free a moment ago.
    private static func freePort() async throws -> Int {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = channel.localAddress?.port ?? 0
        try await channel.close().get()
        return port
    }

    /// The file of this program.
    private static var ownPath: String {
        #if os(Linux)
        let link = "/proc/self/exe"
        #else
        let link = CommandLine.arguments.first ?? "postline"
        #endif
        // realpath allocates the answer, which is copied and freed here.
        guard let path = unsafe realpath(link, nil) else { return link }
        defer { unsafe free(path) }
        return unsafe String(cString: path)
    }
}
