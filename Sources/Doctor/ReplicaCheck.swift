import Postgres
import Schema

/// Checks that the replica follows this database and keeps up.
struct ReplicaCheck: Sendable {
    let database: DatabaseUnderTest
    let replica: DatabaseUnderTest

    private static let check = "replica"

    /// The time within which writes of the primary should arrive.
    private static let waitTimeout = Duration.seconds(2)

    func findings() async throws(PostgresError) -> [Finding] {
        let primary = try await database.query(.replica)
        let written = primary.number("log_bytes")
        let limit = ContinuousClock.now + Self.waitTimeout
        var standby = try await replica.query(.replica)
        while standby.isTrue("is_standby"), standby.number("log_bytes") < written, .now < limit,
            (try? await Task.sleep(for: .milliseconds(100))) != nil
        {
            standby = try await replica.query(.replica)
        }
        return Self.findings(
            isSameDatabase: primary.text("cluster") == standby.text("cluster")
                && primary.text("database") == standby.text("database"),
            isStandby: standby.isTrue("is_standby"),
            bypassesRLS: try await replica.query(.bypass).isTrue("is_above_policies"),
            hasFeedback: standby.text("feedback") == "on", lag: written - standby.number("log_bytes"))
    }

    /// - Parameter lag: the WAL bytes written two seconds ago that are not replayed yet.
    static func findings(
        isSameDatabase: Bool, isStandby: Bool, bypassesRLS: Bool, hasFeedback: Bool, lag: Double
    ) -> [Finding] {
        guard isSameDatabase else {
            return [
                .problem(
                    check, "POSTLINE_REPLICA_DATABASE_URL leads to another database, so the replica is not used.",
                    "Set it to that database on a streaming replica, or leave it out.")
            ]
        }
        guard isStandby else {
            return [
                .problem(
                    check, "POSTLINE_REPLICA_DATABASE_URL leads to a primary, so the replica is not used.",
                    "Set it to a streaming replica of the database, or leave it out.")
            ]
        }
        guard !bypassesRLS else {
            let login = LoginBypassesRLS("The login of POSTLINE_REPLICA_DATABASE_URL")
            return [.problem(check, "\(login.reason), so the replica is not used.", LoginBypassesRLS.advice)]
        }
        var findings: [Finding] = []
        if !hasFeedback {
            findings.append(
                .warning(
                    check, "hot_standby_feedback is off: vacuum on the primary cancels what is read on the replica.",
                    "Set it to on there, and reload."))
        }
        if lag > 0 {
            findings.append(
                .warning(
                    check, "The replica lacks \(Int(lag)) bytes of the log that the primary had two seconds ago.",
                    "See to the network between them, and to what replay waits for (pg_stat_database_conflicts, "
                        + "pg_get_wal_replay_pause_state())."))
        }
        return findings.isEmpty ? [.ok(check, "The replica follows the database.")] : findings
    }
}
