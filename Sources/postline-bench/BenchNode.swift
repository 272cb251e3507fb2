import Foundations
import LineClient
import NIOCore
import NIOPosix
import PrivatePostgres
import Subprocess
import SystemPackage

/// The measured node.
enum BenchNode {
    /// The ports of a node.
    struct Ports: Sendable {
        let line: Int
        let http: Int
        let operations: Int
    }

    /// Runs a node in its own process: the `postline` built beside this program.
    ///
    /// - Parameters:
    ///   - settings: additional settings, by their environment variables.
    ///   - body: receives the ports once the node serves. The node ends when it returns.
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
            // A run may take hours without a new sign-in.
            "POSTLINE_ACCESS_TOKEN_SECONDS": "86400",
            // The clients that send requests expect responses only, also after a round of the program beside.
            "POSTLINE_PING_SECONDS": "3600",
            "POSTLINE_LOG_LEVEL": "warning",
        ])
        for (name, value) in settings { environment = environment.updating([.init(stringLiteral: name): value]) }
        let endsWell = try await BenchProcess.run(program, ["serve", "--migrate"], environment: environment) {
            try await awaitNode(port: ports.line)
            try await body(ports)
        }
        guard endsWell else { throw BenchError("The node did not end well.") }
    }

    /// Returns once the node sends its hello.
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

    /// Returns a port that was free a moment ago.
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
        // realpath allocates its result, which is copied and freed here.
        guard let path = unsafe realpath(link, nil) else { return "postline" }
        defer { unsafe free(path) }
        return FilePath(unsafe String(cString: path)).removingLastComponent().appending("postline").string
    }
}
