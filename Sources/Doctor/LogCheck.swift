import Postgres
import Schema

/// Checks that the database's WAL is no larger than necessary. It looks at the volume written, so that an idle server
/// gets no advice.
struct LogCheck: Sendable {
    let database: DatabaseUnderTest

    /// The volume from which advice is given.
    private static let enough = 10.0 * 1024 * 1024 * 1024

    func findings() async throws(PostgresError) -> [Finding] {
        let answer = try await database.query(.log)
        return [
            Self.checkpoints(
                everySeconds: answer.integer("checkpoint_seconds"), most: answer.number("most"),
                written: answer.number("written"), seconds: answer.number("seconds")),
            Self.pages(
                answer.number("pages"), of: answer.number("written"), compression: answer.text("compression") ?? "off"),
        ]
    }

    /// Checks that checkpoints are far enough apart; frequent ones fill the WAL with full pages.
    ///
    /// - Parameters:
    ///   - most: `max_wal_size` in bytes. A checkpoint starts at about half of it.
    ///   - written: the bytes written in the given seconds.
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

    /// Checks that full pages are compressed if they are most of the WAL.
    static func pages(_ pages: Double, of written: Double, compression: String) -> Finding {
        let percent = written > 0 ? min(100, Int(100 * pages / written)) : 0
        guard written >= enough, percent >= 50, compression == "off" else {
            return .ok("log", "The log is no larger than it need be.")
        }
        return .warning(
            "log", "Whole pages are \(percent) % of the log, and are not compressed.",
            "Set wal_compression to lz4 (pglz if the server lacks lz4), and space checkpoints further apart.")
    }
}
