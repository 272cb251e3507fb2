import Postgres
import Schema

/// Reports what grows in a database without maintenance.
struct UpkeepCheck: Sendable {
    let database: DatabaseUnderTest

    func findings() async throws(PostgresError) -> [Finding] {
        let answer = try await database.query(.upkeep)
        return [
            Self.queue(answer.number("queue")),
            Self.autovacuum(
                isOn: answer.text("autovacuum") == "on" && answer.text("track_counts") == "on",
                unvacuumed: answer.text("unvacuumed")),
            Self.age("transaction ids", answer.integer("xid_age"), freezing: answer.integer("freeze_age")),
            Self.age(
                "multixact ids", answer.integer("multixact_age"), freezing: answer.integer("multixact_freeze_age")),
        ]
    }

    /// - Parameter usage: the fraction of the notification queue in use.
    static func queue(_ usage: Double) -> Finding {
        let message = "The notification queue is \((usage * 1000).rounded() / 10) % full"
        let advice =
            "A session that listens and stays in one transaction keeps it from being emptied; at 100 % no NOTIFY "
            + "commits. Find the process in the server's log, or by its old transaction, and end it."
        if usage >= 0.5 { return .problem("notifications", "\(message).", advice) }
        if usage >= 0.1 { return .warning("notifications", "\(message).", advice) }
        return .ok("notifications", "\(message).")
    }

    static func autovacuum(isOn: Bool, unvacuumed: String?) -> Finding {
        guard isOn else {
            return .problem(
                "autovacuum", "Autovacuum is off: tables grow, and transaction ids run out.",
                "Set autovacuum and track_counts to on.")
        }
        if let unvacuumed {
            return .warning(
                "autovacuum", "Autovacuum is off for \(unvacuumed).", "alter table … reset (autovacuum_enabled);")
        }
        return .ok("autovacuum", "Autovacuum is on.")
    }

    /// - Parameters:
    ///   - age: the age of the oldest unfrozen id. At 2 ^ 31 the database stops assigning ids.
    ///   - freezing: the age at which autovacuum freezes in any case.
    static func age(_ ids: String, _ age: Int, freezing: Int) -> Finding {
        let message = "The \(ids) in use span \(age) of 2147483648"
        let advice =
            "Autovacuum does not come to an end: see what holds it back (horizon), and run vacuum (freeze) in the "
            + "database with the oldest datfrozenxid or datminmxid."
        if age > 1_600_000_000 { return .problem("wraparound", "\(message).", advice) }
        if age > max(2 * freezing, 500_000_000) { return .warning("wraparound", "\(message).", advice) }
        return .ok("wraparound", "\(message).")
    }
}
