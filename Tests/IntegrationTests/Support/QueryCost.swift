import BoundedWait
import Postgres

/// The result of a query, and its cost from the database's statistics.
struct QueryCost {
    /// The first value of the first row.
    let value: String?

    /// The number of scans by table, sequential and by index.
    let scans: [String: Int]

    /// The number of calls by function, without inlined ones.
    let calls: [String: Int]
}

extension TestDatabase {
    /// Runs a query with a user's rights in a rolled-back transaction, and returns its cost.
    func cost(of query: String, as user: String) async throws -> QueryCost {
        // The first transaction of a new connection, so that only this query is counted.
        let results = try await withConnection {
            try await $0.execute(
                """
                begin;
                set local track_functions = 'all';
                \(Self.rights(of: user))
                \(query);
                reset role;
                select relname, seq_scan + coalesce(idx_scan, 0) from pg_stat_xact_user_tables
                 where seq_scan + coalesce(idx_scan, 0) > 0;
                select schemaname || '.' || funcname, calls from pg_stat_xact_user_functions;
                rollback
                """, deadline: watchdogLimit)
        }
        return QueryCost(
            value: results[4].count == 0 ? nil : results[4].text(0, 0), scans: results[6].counts,
            calls: results[7].counts)
    }

    /// Enables the counting of function calls on new connections.
    func countCalls() async throws {
        try await psql("alter database \(name) set track_functions = 'all'")
    }

    /// Returns the number of calls so far by function of `api`, one for each request.
    ///
    /// Ends the service's connections, since a backend flushes its counts at the latest then.
    func callsOfRequests() async throws -> [String: Int] {
        try await psql(
            """
            select pg_terminate_backend(pid, 5000) from pg_stat_activity
             where usename = 'postline' and datname = current_database()
            """)
        return try await withConnection {
            try await $0.execute("select funcname, calls from pg_stat_user_functions where schemaname = 'api'")
        }[0].counts
    }
}

extension Rows {
    /// The rows as names and counts.
    fileprivate var counts: [String: Int] {
        Dictionary(uniqueKeysWithValues: (0..<count).map { (text($0, 0) ?? "", Int(text($0, 1) ?? "") ?? 0) })
    }
}
