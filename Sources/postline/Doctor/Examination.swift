internal import Logging
internal import Messaging
internal import Postgres

/// All that `postline doctor` looks at, one after another.
struct Examination: Sendable {
    let settings: Settings
    let openTransactionSeconds: Int

    /// What goes wrong is told as a finding.
    private static let logger = Logger(label: "doctor") { _ in SwiftLogNoOpLogHandler() }

    /// Each finding as it is made.
    func findings() -> AsyncStream<Finding> {
        AsyncStream { stream in
            // Ends with the stream's reader.
            let task = Task {
                await examine { stream.yield($0) }
                stream.finish()
            }
            stream.onTermination = { _ in task.cancel() }
        }
    }

    private func examine(_ report: (Finding) -> Void) async {
        for finding in await ConfigurationCheck(settings: settings).findings() { report(finding) }
        let ports = PortCheck(settings: settings)
        let isServing = await ports.examine(report)
        guard let url = settings.databaseURL, !url.isEmpty else { return }
        let reactor = Reactor(name: "doctor")
        guard let patient = await Patient.reached(url, "database", on: reactor, report) else { return }
        var admin: Patient?
        if let adminURL = settings.adminDatabaseURL, !adminURL.isEmpty {
            admin = await Patient.reached(adminURL, "admin", on: reactor, report)
        }
        await examine(patient, admin: admin, isServing: isServing, report)
        await ListenCheck(settings: settings, url: url, isPooled: patient.isPooled, logger: Self.logger).examine(report)
        await patient.leave()
        await admin?.leave()
    }

    private func examine(
        _ patient: Patient, admin: Patient?, isServing: Bool, _ report: (Finding) -> Void
    ) async {
        await Self.told("database", report) { try await ServerCheck(patient: patient).findings() }
        await Self.told("roles", report) { try await RoleCheck(patient: patient).findings() }
        await Self.told("rls", report) { try await RowSecurityCheck(patient: patient).findings() }
        await Self.told("migrations", report) {
            try await MigrationCheck(patient: patient, admin: admin).findings()
        }
        await Self.told("connections", report) {
            try await SlotCheck(patient: patient, poolSize: settings.poolSize, isServing: isServing).findings()
        }
        await Self.told("durability", report) { try await DurabilityCheck(patient: patient).findings() }
        await Self.told("upkeep", report) { try await UpkeepCheck(patient: patient).findings() }
        await Self.told("horizon", report) {
            try await HorizonCheck(patient: admin ?? patient, seconds: openTransactionSeconds).findings()
        }
    }

    /// Reports what a group of checks finds, or why it could not be asked.
    private static func told(
        _ check: String, _ report: (Finding) -> Void, _ findings: () async throws -> [Finding]
    ) async {
        do {
            for finding in try await findings() { report(finding) }
        } catch {
            report(.problem(check, "The database does not answer what it is asked: \(error).", "See to that first."))
        }
    }
}
