internal import Messaging
internal import Postgres

/// The streaming replica that the feed and lists read: whether it is one of this database, and follows it.
struct ReplicaCheck: Sendable {
    let database: DatabaseUnderTest
    let replica: DatabaseUnderTest

    private static let check = "replica"

    /// What is still to be replayed, in bytes of the log, from which on it is told of: some seconds of a busy database.
    private static let mostLag = 64.0 * 1024 * 1024

    func findings() async throws(PostgresError) -> [Finding] {
        let (primary, standby) = (try await database.ask(.replica), try await replica.ask(.replica))
        return Self.findings(
            isSameCluster: primary.text("cluster") == standby.text("cluster"),
            isStandby: standby.isTrue("is_standby"), hasFeedback: standby.text("feedback") == "on",
            lag: primary.number("log_bytes") - standby.number("log_bytes"))
    }

    /// - Parameter lag: in bytes of the log.
    static func findings(isSameCluster: Bool, isStandby: Bool, hasFeedback: Bool, lag: Double) -> [Finding] {
        guard isSameCluster else {
            return [
                .problem(
                    check, "POSTLINE_REPLICA_DATABASE_URL leads to another cluster.",
                    "Set it to a streaming replica of the database, or leave it out.")
            ]
        }
        guard isStandby else {
            return [
                .problem(
                    check, "POSTLINE_REPLICA_DATABASE_URL leads to a primary: nothing is read there.",
                    "Set it to a streaming replica of the database, or leave it out.")
            ]
        }
        var findings: [Finding] = []
        if !hasFeedback {
            findings.append(
                .warning(
                    check, "hot_standby_feedback is off: vacuum on the primary cancels what is read on the replica.",
                    "Set it to on there, and reload."))
        }
        if lag > mostLag {
            findings.append(
                .warning(
                    check, "The replica is \(Int(lag / 1024 / 1024)) MiB of the log behind.",
                    "See to the network between them, and to what replay waits for (pg_stat_database_conflicts)."))
        }
        return findings.isEmpty ? [.ok(check, "The replica follows the database.")] : findings
    }
}
