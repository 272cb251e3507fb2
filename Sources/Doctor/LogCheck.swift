internal import Messaging
internal import Postgres

/// Whether the database's log (WAL) is larger than it need be: by what was written, so that a server with little to do
/// is told nothing.
struct LogCheck: Sendable {
    let database: DatabaseUnderTest

    /// What was written before anything is said of how.
    private static let enough = 10.0 * 1024 * 1024 * 1024

    func findings() async throws(PostgresError) -> [Finding] {
        let answer = try await database.ask(.log)
        return [
            Self.checkpoints(
                everySeconds: answer.integer("checkpoint_seconds"), most: answer.number("most"),
                written: answer.number("written"), seconds: answer.number("seconds")),
            Self.pages(
                answer.number("pages"), of: answer.number("written"), compression: answer.text("compression") ?? "off"),
        ]
    }

    /// Whether checkpoints are further apart than what makes most of the log whole pages.
    ///
    /// - Parameters:
    ///   - most: how much log there may be, in bytes; a checkpoint comes when there is about half of it.
    ///   - written: how much was written, in bytes, in so many seconds.
    static func checkpoints(everySeconds timeout: Int, most: Double, written: Double, seconds: Double) -> Finding {
        guard timeout >= 120 else {
            return .warning(
                "checkpoints",
                "A checkpoint comes every \(timeout) s, and after each the log takes every changed page whole.",
                "Set checkpoint_timeout to 15min, and at least to 5min.")
        }
        let between = written / max(seconds, 1) * Double(timeout)
        guard written >= enough, between > most / 2 else {
            return .ok("checkpoints", "Checkpoints come every \(timeout) s, and seldom before their time.")
        }
        let gibibytes = Int((3 * between / 1_073_741_824).rounded(.up))
        return .warning(
            "checkpoints",
            "Checkpoints come before their time: in \(timeout) s there are \(Int(between / 1_048_576)) MB of log, and "
                + "max_wal_size lets \(Int(most / 1_048_576)) MB stand.",
            "Set max_wal_size to \(gibibytes)GB: after each checkpoint the log takes every changed page whole.")
    }

    /// Whether whole pages that are most of the log are compressed.
    static func pages(_ pages: Double, of written: Double, compression: String) -> Finding {
        let percent = written > 0 ? min(100, Int(100 * pages / written)) : 0
        guard written >= enough, percent >= 50, compression == "off" else {
            return .ok("log", "The log is no larger than it need be.")
        }
        return .warning(
            "log", "Whole pages are \(percent) % of the log, and are not compressed.",
            "Set wal_compression to lz4 (pglz where the server has no lz4), and checkpoints further apart.")
    }
}
