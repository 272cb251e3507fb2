import Postgres

extension Feed {
    static let affectedUsers = Statement(
        "feed.users_with_changes", "select feed.users_with_changes($1::pg_snapshot, $2::uuid[])")

    /// Called without the preamble, which would cost more than the query. Every role may call the function.
    static let logOnDisk = Statement("feed.log_on_disk", "select pg_current_wal_flush_lsn()")
    static let logWritten = Statement("feed.log_written", "select pg_current_wal_insert_lsn()")
}
