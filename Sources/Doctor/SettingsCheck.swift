import Foundations
import Postgres
import Schema

/// Checks the server settings that Postline depends on. It sets them for its own sessions where it may.
struct SettingsCheck: Sendable {
    let database: DatabaseUnderTest

    private static let check = "settings"

    func findings() async throws(PostgresError) -> [Finding] {
        let settings = SessionSettings.all
        let answer = try await database.query(
            .session, [settings.map(\.name).arrayLiteral, settings.map(\.value).arrayLiteral])
        let others = answer.indices.filter { !isSet(answer.text("name", $0) ?? "", answer.isTrue("is_settable", $0)) }
        guard !others.isEmpty else {
            return [.ok(Self.check, "Postline's sessions have the settings that they depend on.")]
        }
        return others.map { row in
            let name = answer.text("name", row) ?? ""
            let isSettable = answer.isTrue("is_settable", row)
            let message =
                "\(name) is \(answer.text("value", row) ?? ""), and Postline cannot set it for its own sessions: "
                + (isSettable ? "a pooler is in between." : "only a superuser may.")
            let advice =
                "Let it be \(answer.text("wanted", row) ?? "") for them: alter database … reset \(name), alter role … "
                + "reset \(name), or in postgresql.conf, wherever it is set."
            return isSettable ? .warning(Self.check, message, advice) : .problem(Self.check, message, advice)
        }
    }

    /// Returns true if Postline overrides the value of server, database or role.
    private func isSet(_ name: String, _ isSettable: Bool) -> Bool {
        isSettable && (!database.isPooled || SessionSettings.persistsThroughPooler(name))
    }
}
