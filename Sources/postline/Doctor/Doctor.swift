internal import ArgumentParser
internal import Messaging
internal import SystemPackage

/// `postline doctor`.
struct Doctor: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Check settings, ports and database, and say what to do.",
        discussion: """
            Prints one line a finding: ok, warning, problem, or skipped where it could not be asked with what was given. \
            Exit code 0 without a problem, 1 with one, 78 where the settings cannot be read. It changes nothing. With \
            POSTLINE_ADMIN_DATABASE_URL it also sees which migrations were applied, and other programs' transactions.
            """)

    @OptionGroup var options: SettingOptions

    @Flag(help: "Print each finding as a JSON object: level, check, message, advice.")
    var json = false

    @Option(help: "From which age in seconds an open transaction is told of. Default: 600.")
    var openTransactionSeconds = 600

    func run() async throws {
        try await Failure.reported {
            let settings = try await Settings(options)
            let examination = Examination(settings: settings, openTransactionSeconds: openTransactionSeconds)
            var hasProblem = false
            for await finding in examination.findings() {
                hasProblem = hasProblem || finding.level == .problem
                // Not `print`, which keeps back what goes to a pipe. Whoever reads no more (`| head`) has the exit code.
                _ = try? FileDescriptor.standardOutput.writeAll(((json ? finding.json : finding.line) + "\n").utf8)
            }
            if hasProblem { throw ExitCode.failure }
        }
    }

    func validate() throws {
        if openTransactionSeconds < 0 { throw ValidationError("--open-transaction-seconds must not be negative.") }
    }
}
