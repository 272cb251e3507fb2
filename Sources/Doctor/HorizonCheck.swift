import Postgres
import Schema

/// Reports what prevents vacuum from removing dead rows: old and prepared transactions, and replication slots.
struct HorizonCheck: Sendable {
    let database: DatabaseUnderTest

    /// The age from which a transaction is reported.
    let seconds: Int

    private static let check = "horizon"

    func findings() async throws(PostgresError) -> [Finding] {
        let answer = try await database.query(.horizon)
        var findings = answer.indices.compactMap { finding(of: $0, in: answer) }
        if !answer.indices.allSatisfy({ answer.isTrue("sees_all", $0) }) {
            findings.append(
                .skipped(
                    Self.check, "The transactions of other roles are not seen.",
                    "Set POSTLINE_ADMIN_DATABASE_URL to a role that has pg_read_all_stats, and ask again."))
        }
        return findings.isEmpty ? [.ok(Self.check, "Nothing keeps dead rows from being removed.")] : findings
    }

    private func finding(of row: Int, in answer: QueryResult) -> Finding? {
        let name = answer.text("name", row) ?? ""
        let age = answer.text("seconds", row).flatMap { Int($0) }
        switch answer.text("kind", row) {
        case "transaction":
            guard let age, age >= seconds else { return nil }
            return .warning(
                Self.check, "A transaction is open for \(age) s: \(name).",
                "End it in its program, or with pg_terminate_backend(pid); set idle_in_transaction_session_timeout.")
        case "prepared":
            guard let age, age >= seconds else { return nil }
            return .warning(
                Self.check, "A prepared transaction waits for \(age) s: \(name).",
                "commit prepared or rollback prepared it. Postline makes none.")
        case "slot":
            return .warning(
                Self.check, "Nobody reads the replication slot \(name): it keeps rows and the log from being removed.",
                "Start its reader, or drop it with pg_drop_replication_slot.")
        default: return nil
        }
    }
}
