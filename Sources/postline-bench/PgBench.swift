import LineClient
import PrivatePostgres
import Subprocess

/// `pgbench`, running the statements of one request in one pipeline, as Postline does.
struct PgBench: Sendable {
    /// The statement before each call: Postline's own, with its default timeouts.
    private static let preamble = """
        select set_config('role', 'authenticated', true), set_config('request.jwt.claims', :claims, true), \
        set_config('request.jwt.claim.sub', :id, true), set_config('statement_timeout', '10000ms', true), \
        set_config('lock_timeout', '5000ms', true), set_config('application_name', 'postline', true), \
        set_config('postline.quiet', 'on', true);
        """

    /// It is fastest with sixteen connections.
    static let mostClients = 16

    let installation: PostgresInstallation
    /// The superuser's URL: pgbench prepares a call before the preamble has set the role that may make it. The call
    /// still runs in that role.
    let url: String
    let directory: String

    /// Runs a call repeatedly in each client. It may use `:conversation`.
    ///
    /// - Parameter asFirstUser: lets all clients be the first user, with one conversation.
    func run(
        _ call: String, clients: Int, asFirstUser: Bool = false, seconds: Int
    ) async throws -> BenchRound {
        let name = "\(directory)/pgbench-\(randomUUID())"
        let user = asFirstUser ? "0" : ":client_id"
        // Each client first looks up its user, once.
        try BenchFiles.write(
            """
            \\if :ready = 0
            select claims, claims::json ->> 'sub' as id, conversation from bench.clients where n = \(user) \\gset
            \\set ready 1
            \\endif
            \\startpipeline
            \(Self.preamble)
            \(call);
            \\endpipeline

            """, to: "\(name).sql")
        let arguments: [String] = [
            "-n", "-M", "prepared", "-c", "\(clients)", "-j", "\(min(2, clients))", "-T", "\(seconds)",
            "-D", "ready=0", "-D", "claims=none", "-D", "id=none", "-D", "conversation=none", "-f", "\(name).sql",
            "-l", "--log-prefix", "\(name).log", "--sampling-rate", "0.2", url,
        ]
        let result = try await Subprocess.run(
            .name("sh"),
            arguments: Arguments(["-c", "exec \"$0\" \"$@\"", installation.program("pgbench")] + arguments),
            output: .string(limit: 1 << 20), error: .combinedWithOutput)
        let output = result.standardOutput
        guard result.terminationStatus.isSuccess, let rate = Self.rate(in: output) else {
            throw BenchError("pgbench failed: \(output)")
        }
        return BenchRound(perSecond: rate, latencies: Percentiles(try BenchFiles.latencies(prefix: "\(name).log")))
    }

    /// Parses `tps = 8589.123456 (without initial connection time)`.
    private static func rate(in output: String) -> Double? {
        for line in output.split(whereSeparator: \.isNewline) where line.hasPrefix("tps = ") {
            return line.dropFirst(6).split(separator: " ").first.flatMap { Double(String($0)) }
        }
        return nil
    }
}

/// The reason why a measurement failed, as a sentence.
struct BenchError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
