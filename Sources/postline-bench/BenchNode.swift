internal import LineClient
internal import NIOCore
internal import NIOPosix
internal import PrivatePostgres
internal import Subprocess
internal import SystemPackage

#if canImport(Glibc)
internal import Glibc
#elseif canImport(Musl)
internal import Musl
#elseif canImport(Darwin)
internal import Darwin
#endif

/// A node that is measured.
enum BenchNode {
    /// Where it listens.
    struct Ports: Sendable {
        let line: Int
        let http: Int
        let operations: Int
    }

    /// A node in a process of its own: the `postline` that was built beside this program.
    ///
    /// - Parameters:
    ///   - settings: what it has beside what every node here has, by the names of its environment.
    ///   - body: gets its ports, once it serves; when it returns, the node ends.
    static func run(
        on postgres: PrivatePostgres, database: String = "postline", secret: String,
        environment settings: [String: String] = [:], _ body: (Ports) async throws -> Void
    ) async throws {
        let ports = Ports(
            line: try await freePort(), http: try await freePort(), operations: try await freePort())
        var environment = Environment.inherit.updating([
            "POSTLINE_DATABASE_URL": await postgres.url(user: "postline", database: database),
            "POSTLINE_ADMIN_DATABASE_URL": await postgres.url(database: database),
            "POSTLINE_LISTEN_DATABASE_URL": "", "POSTLINE_HOST": "127.0.0.1", "POSTLINE_PORT": "\(ports.line)",
            "POSTLINE_HTTP_PORT": "\(ports.http)", "POSTLINE_OPERATIONS_PORT": "\(ports.operations)",
            "POSTLINE_AUTH": "builtin",
            "POSTLINE_JWT_SECRET": secret, "POSTLINE_RATE_LIMITS": "off",
            // A run may take hours, and nobody here signs in anew.
            "POSTLINE_ACCESS_TOKEN_SECONDS": "86400",
            "POSTLINE_LOG_LEVEL": "warning",
        ])
        for (name, value) in settings { environment = environment.updating([.init(stringLiteral: name): value]) }
        let endsWell = try await BenchProcess.run(program, ["serve", "--migrate"], environment: environment) {
            try await awaitNode(port: ports.line)
            try await body(ports)
        }
        guard endsWell else { throw BenchError("The node did not end well.") }
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
    static func freePort() async throws -> Int {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = channel.localAddress?.port ?? 0
        try await channel.close().get()
        return port
    }

    private static var program: String {
        #if os(Linux)
        let link = "/proc/self/exe"
        #else
        let link = CommandLine.arguments.first ?? "postline-bench"
        #endif
        // realpath allocates the answer, which is copied and freed here.
        guard let path = unsafe realpath(link, nil) else { return "postline" }
        defer { unsafe free(path) }
        return FilePath(unsafe String(cString: path)).removingLastComponent().appending("postline").string
    }
}
