import Postgres

/// The state of a database's schema, read by statements that every role may run.
struct SchemaState: Sendable {
    private let isMigrated: Bool

    /// True if the querying role bypasses row-level security.
    private let bypassesRLS: Bool

    /// True if this version has migrated it.
    private let isSigned: Bool

    /// True if the database is read-only now: a standby, or writes were stopped.
    let isReadOnly: Bool

    /// The queries for the state.
    static let calls = [Call(statement, [SQLFile.signature]), LoginBypassesRLS.call]

    /// The SQL is here because it runs on databases that have none of our functions yet.
    private static let statement = Statement(
        "state",
        """
        select
            exists (
                select from pg_catalog.pg_proc as p join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
                where n.nspname = 'feed' and p.proname = 'poll_changes'),
            pg_catalog.strpos(
                pg_catalog.obj_description(pg_catalog.to_regnamespace('api'), 'pg_namespace'), $1) > 0,
            pg_catalog.current_setting('transaction_read_only')::boolean
        """)

    /// - Parameter answers: the results of ``calls``.
    init(_ answers: [Rows]) {
        isMigrated = answers[0].text(0, 0) == "t"
        isSigned = answers[0].text(0, 1) == "t"
        isReadOnly = answers[0].text(0, 2) == "t"
        bypassesRLS = LoginBypassesRLS.isReported(by: answers[1])
    }

    /// The reason why the database cannot be served, or nil.
    var incompatibility: String? {
        guard isMigrated else {
            return "The database is not migrated: run `postline migrate`, or `postline serve --migrate`."
        }
        guard !bypassesRLS else { return LoginBypassesRLS("The login role").description }
        guard isSigned else {
            return """
                The database was never migrated by this version of Postline: run its `postline migrate`, or \
                `postline serve --migrate`.
                """
        }
        return nil
    }
}
