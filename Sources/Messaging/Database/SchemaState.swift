internal import Postgres

/// Whether a database can be served by this binary: what statements that every role may run tell of it.
struct SchemaState: Sendable {
    private let isMigrated: Bool

    /// Whether row-level security would not hold for the role that asked.
    private let isAbovePolicies: Bool

    /// Whether this version has migrated it.
    private let isSigned: Bool

    /// True if the database takes no writes now: it is a standby, or writes were stopped.
    let isReadOnly: Bool

    /// Ask for it.
    static let calls = [Call(statement, [SQLFile.signature]), LoginAbovePolicies.call]

    /// Its SQL stands here, because it is asked of databases that have no function of ours yet.
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

    /// - Parameter answers: what ``calls`` gave.
    init(_ answers: [Rows]) {
        isMigrated = answers[0].text(0, 0) == "t"
        isSigned = answers[0].text(0, 1) == "t"
        isReadOnly = answers[0].text(0, 2) == "t"
        isAbovePolicies = LoginAbovePolicies.isTold(by: answers[1])
    }

    /// Why it cannot be served; nil where it can.
    var shortfall: String? {
        guard isMigrated else {
            return "The database is not migrated: run `postline migrate`, or `postline serve --migrate`."
        }
        guard !isAbovePolicies else { return LoginAbovePolicies("The login role").description }
        guard isSigned else {
            return """
                The database was never migrated by this version of Postline: run its `postline migrate`, or \
                `postline serve --migrate`.
                """
        }
        return nil
    }
}
