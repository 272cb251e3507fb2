/// The server settings that Postline depends on, with the values that it sets for each of its sessions.
///
/// A database and a role can have their own values (`alter database … set`, `alter role … set`), which apply to every
/// session that sets no other.
///
/// Not included: settings that only affect speed (`work_mem`, `random_page_cost`); `synchronous_commit`, the operator's
/// choice of durability (`doctor` warns about `off`); `lo_compat_privileges`, which concerns large objects; and
/// `default_transaction_read_only`, by which operators and hosts stop writes: such a database is unavailable until it
/// is writable again.
package enum SessionSettings {
    /// Settings that change the meaning of statements or the format of values.
    ///
    /// Through a pooler that changes the backend between transactions, they are set in each transaction.
    static let semantic: [(name: String, value: String)] = [
        ("standard_conforming_strings", "on"), ("backslash_quote", "safe_encoding"), ("array_nulls", "on"),
        ("transform_null_equals", "off"), ("quote_all_identifiers", "off"), ("xmloption", "content"),
        ("xmlbinary", "base64"), ("row_security", "on"), ("search_path", "public"), ("DateStyle", "ISO, MDY"),
        ("IntervalStyle", "postgres"), ("TimeZone", "UTC"), ("bytea_output", "hex"), ("extra_float_digits", "1"),
    ]

    /// Other settings, which apply to the whole session.
    static let ofSession: [(name: String, value: String)] = [
        ("escape_string_warning", "on"), ("client_min_messages", "notice"), ("check_function_bodies", "on"),
        ("exit_on_error", "off"), ("default_transaction_isolation", "read committed"),
        ("default_transaction_deferrable", "off"), ("session_replication_role", "origin"),
        ("statement_timeout", "0"), ("lock_timeout", "0"), ("transaction_timeout", "0"),
        ("idle_in_transaction_session_timeout", "0"), ("idle_session_timeout", "0"),
        ("default_table_access_method", "heap"), ("default_tablespace", ""), ("temp_tablespaces", ""),
        ("createrole_self_grant", ""), ("restrict_nonsystem_relation_kind", ""), ("event_triggers", "on"),
        ("plan_cache_mode", "auto"), ("constraint_exclusion", "partition"), ("geqo", "on"),
        ("force_parallel_mode", "off"), ("debug_parallel_query", "off"), ("from_collapse_limit", "8"),
        ("join_collapse_limit", "8"), ("cursor_tuple_fraction", "0.1"), ("recursive_worktable_factor", "10"),
        ("jit", "off"), ("timezone_abbreviations", "Default"), ("gin_fuzzy_search_limit", "0"),
        ("zero_damaged_pages", "off"), ("ignore_checksum_failure", "off"), ("allow_system_table_mods", "off"),
    ]

    /// Settings that `pg_settings` does not list: the role, and those of a language that is not loaded yet.
    private static let unlisted: [(name: String, value: String)] = [
        ("role", "none"), ("plpgsql.extra_errors", "none"), ("plpgsql.extra_warnings", "none"),
        ("plpgsql.check_asserts", "on"), ("plpgsql.print_strict_params", "off"),
    ]

    /// All settings. The planner's switches (`enable_…`) are additional: each is set to its default.
    package static var all: [(name: String, value: String)] { semantic + ofSession }

    /// True if a setting is also set behind a pooler that changes the backend between transactions.
    package static func persistsThroughPooler(_ name: String) -> Bool {
        semantic.contains { $0.name.lowercased() == name.lowercased() }
    }

    /// Lifts timeouts of the role before the other settings are set, since one may be too short for that. `$1` as
    /// below.
    static let limits = Statement(
        "postgres.limits",
        """
        select case when pg_catalog.pg_backend_pid() operator(pg_catalog.=) $1::pg_catalog.int4
                    then pg_catalog.set_config('statement_timeout', '0', false) end
        """)

    /// Sets all settings for the session if `$1` is its backend. Through a pooler it is not, and another program's
    /// session must not be changed.
    ///
    /// Settings that need a superuser, or that this version lacks, are skipped.
    static let statement = Statement(
        "postgres.session",
        """
        select pg_catalog.pg_backend_pid(),
               (select pg_catalog.count(pg_catalog.set_config(s.name, s.value, false))
                  from (select p.name, coalesce(w.value, p.boot_val) as value
                          from pg_catalog.pg_settings p
                          left join (values \(values(all))) as w (name, value)
                            on pg_catalog.lower(w.name) operator(pg_catalog.=) pg_catalog.lower(p.name)
                         where (w.name is not null or p.name operator(pg_catalog.~) '^enable_')
                           and p.context operator(pg_catalog.=) 'user'
                           and p.setting operator(pg_catalog.<>) coalesce(w.value, p.boot_val)
                        union all values \(values(unlisted))) as s
                 where pg_catalog.pg_backend_pid() operator(pg_catalog.=) $1::pg_catalog.int4)
        """)

    /// Sets the settings of a transaction, before its statements.
    static let prelude = Statement(
        "postgres.prelude",
        "select "
            + semantic.map { "pg_catalog.set_config('\($0.name)', '\($0.value)', true)" }.joined(separator: ", "))

    /// Returns the settings as SQL rows. No name or value contains a quote or backslash.
    private static func values(_ settings: [(name: String, value: String)]) -> String {
        settings.map { "('\($0.name)', '\($0.value)')" }.joined(separator: ", ")
    }
}
