import Accounts
import ArgumentParser
import ChangeFeed
import Doctor
import LineServer

/// `postline doctor`. The name differs from the module's, which it would shadow.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor",
        abstract: "Check settings, ports and database, and say what to do.",
        discussion: """
            Prints one line a finding: ok, warning, problem, or skipped where it could not be asked with what was given. \
            Exit code 0 without a problem, 1 with one, 78 where the settings cannot be read. It changes nothing. With \
            POSTLINE_ADMIN_DATABASE_URL it also sees which migrations were applied, and other programs' transactions.
            """)

    @OptionGroup var options: SettingOptions
    @OptionGroup var world: DevWorldOptions

    @Flag(help: "Print each finding as a JSON object: level, check, message, advice.")
    var json = false

    @Option(help: "The age in seconds from which open transactions are reported.")
    var openTransactionSeconds = 600

    func run() async throws {
        try await CommandFailure.reported {
            let settings = await SettingsUnderTest(try world.settings(options))
            let run = DoctorRun(settings, openTransactionSeconds: openTransactionSeconds)
            if await run.report(asJSON: json) { throw ExitCode.failure }
        }
    }

    func validate() throws {
        try world.validate(with: options)
        if openTransactionSeconds < 0 { throw ValidationError("--open-transaction-seconds must not be negative.") }
    }
}

extension SettingsUnderTest {
    /// Collects what `doctor` checks from the settings.
    fileprivate init(_ settings: Settings) async {
        self.init(
            flaw: await settings.flaw, jwtSecret: settings.jwtSecret, jwtIssuer: settings.jwtIssuer,
            accountProvider: settings.accountProvider,
            unknownVariables: settings.unknownVariables.map { ($0, nearest: SettingNames.nearestVariable(to: $0)) },
            host: settings.lines.host, port: settings.lines.port,
            certificate: settings.tls.map { files in
                (files.certificate, expiry: Result { try settings.certificate()?.expiry ?? 0 })
            },
            expectsProxyHeader: settings.lines.expectsProxyHeader,
            httpHost: settings.httpHost ?? settings.lines.host, httpPort: settings.httpPort,
            operationsHost: settings.operationsHost, operationsPort: settings.operationsPort,
            databaseURL: settings.databaseURL, listenDatabaseURL: settings.listenDatabaseURL,
            replicaDatabaseURL: settings.replicaDatabaseURL, adminDatabaseURL: settings.adminDatabaseURL,
            poolSize: settings.poolSize,
            // Errors in them are reported by `flaw`.
            push: try? settings.push.settings(),
            mail: try? settings.mail.settings(accounts: settings.accountProvider),
            media: try? settings.media.settings(jwtSecret: settings.jwtSecret),
            appleKeys: settings.apple.clients.isEmpty ? nil : try? settings.apple.source(),
            reports: try? settings.safety.webhook(), filter: try? settings.safety.filterWebhook())
    }
}

extension Settings {
    private func checkWithoutWaiting() throws {
        _ = try requireDatabaseURL()
        _ = try push.settings()
        _ = try mail.settings(accounts: accountProvider)
        _ = try media.settings(jwtSecret: jwtSecret)
        _ = try apple.source()
        _ = try safety.webhook()
        _ = try safety.filterWebhook()
    }

    /// The reason why a node would not start with these settings, or nil.
    fileprivate var flaw: String? {
        get async {
            do {
                try checkWithoutWaiting()
                _ = try await tokenKeys()
                return nil
            } catch {
                return "\(error)"
            }
        }
    }
}
