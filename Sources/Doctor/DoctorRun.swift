import Logging
import Postgres
import SystemPackage

/// Runs all checks of `postline doctor`, one after another.
package struct DoctorRun: Sendable {
    private let settings: SettingsUnderTest
    private let openTransactionSeconds: Int

    /// A logger that discards everything: failures are reported as findings.
    private static let logger = Logger(label: "doctor") { _ in SwiftLogNoOpLogHandler() }

    /// Creates a run.
    ///
    /// - Parameter openTransactionSeconds: the age from which open transactions are reported.
    package init(_ settings: SettingsUnderTest, openTransactionSeconds: Int) {
        self.settings = settings
        self.openTransactionSeconds = openTransactionSeconds
    }

    /// Writes each finding to standard output as a line.
    ///
    /// - Returns: true if one of them is a problem.
    package func report(asJSON: Bool) async -> Bool {
        var hasProblem = false
        await examine { finding in
            hasProblem = hasProblem || finding.level == .problem
            // Written directly, since `print` buffers output to a pipe. If the reader has gone (`| head`), the exit
            // code remains.
            _ = try? FileDescriptor.standardOutput.writeAll(((asJSON ? finding.json : finding.line) + "\n").utf8)
        }
        return hasProblem
    }

    private func examine(_ report: (Finding) -> Void) async {
        for finding in ConfigurationCheck(settings: settings).findings() { report(finding) }
        let ports = PortCheck(settings: settings)
        let isServing = await ports.examine(report)
        await PushCheck(settings: settings.push).examine(report)
        await MailCheck(settings: settings.mail).examine(report)
        await MediaCheck(settings: settings.media).examine(report)
        await WebhookCheck(webhook: settings.reports, about: "reports", settings: "POSTLINE_REPORT").examine(report)
        await WebhookCheck(webhook: settings.filter, about: "held messages", settings: "POSTLINE_FILTER")
            .examine(report)
        await AppleCheck(keys: settings.appleKeys).examine(report)
        guard let url = settings.databaseURL, !url.isEmpty else { return }
        let reactor = Reactor(name: "doctor")
        guard let database = await DatabaseUnderTest.reached(url, "database", on: reactor, report) else { return }
        var admin: DatabaseUnderTest?
        if let adminURL = settings.adminDatabaseURL, !adminURL.isEmpty {
            admin = await DatabaseUnderTest.reached(adminURL, "admin", on: reactor, report)
        }
        await examine(database, admin: admin, isServing: isServing, report)
        if let admin { await MediaCheck(settings: settings.media).examine(admin, report) }
        await ListenCheck(settings: settings, url: url, isPooled: database.isPooled, logger: Self.logger).examine(
            report)
        if let replicaURL = settings.replicaDatabaseURL, !replicaURL.isEmpty,
            let replica = await DatabaseUnderTest.reached(replicaURL, "replica", on: reactor, report)
        {
            await Self.told("replica", report) {
                try await ReplicaCheck(database: database, replica: replica).findings()
            }
            await replica.leave()
        }
        await database.leave()
        await admin?.leave()
    }

    private func examine(
        _ database: DatabaseUnderTest, admin: DatabaseUnderTest?, isServing: Bool, _ report: (Finding) -> Void
    ) async {
        await Self.told("database", report) { try await ServerCheck(database: database).findings() }
        await Self.told("roles", report) { try await RoleCheck(database: database).findings() }
        await Self.told("rls", report) { try await RowSecurityCheck(database: database).findings() }
        await Self.told("migrations", report) {
            try await MigrationCheck(database: database, admin: admin).findings()
        }
        await Self.told("connections", report) {
            try await SlotCheck(
                database: database, poolSize: settings.poolSize, pushes: settings.push != nil,
                hasStandby: settings.replicaDatabaseURL?.isEmpty == false, isServing: isServing
            ).findings()
        }
        await Self.told("settings", report) { try await SettingsCheck(database: database).findings() }
        await Self.told("durability", report) { try await DurabilityCheck(database: database).findings() }
        await Self.told("log", report) { try await LogCheck(database: database).findings() }
        await Self.told("upkeep", report) { try await UpkeepCheck(database: database).findings() }
        await Self.told("horizon", report) {
            try await HorizonCheck(database: admin ?? database, seconds: openTransactionSeconds).findings()
        }
    }

    /// Reports the findings of a group of checks, or why its query failed.
    private static func told(
        _ check: String, _ report: (Finding) -> Void, _ findings: () async throws -> [Finding]
    ) async {
        do {
            for finding in try await findings() { report(finding) }
        } catch {
            report(.problem(check, "A query failed: \(error).", "Resolve this first."))
        }
    }
}
