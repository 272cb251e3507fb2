internal import Postgres

/// Whether a database can be served by this binary: what one statement that every role may run tells of it.
struct SchemaState: Sendable {
    private let isMigrated: Bool

    /// Whether row-level security would not hold for the role that asked.
    let isAbovePolicies: Bool

    /// Whether this version has migrated it.
    private let isSigned: Bool

    /// Asks for it.
    static let call = Call(statement, [SQLFile.signature])

    /// Its SQL stands here, because it is asked of databases that have no function of ours yet.
    private static let statement = Statement(
        "state",
        """
        select
            exists (
                select from pg_catalog.pg_proc as p join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
                where n.nspname = 'feed' and p.proname = 'look'),
            exists (
                select from pg_catalog.pg_roles as r
                where r.rolname = current_user and (r.rolsuper or r.rolbypassrls
                    or exists (select from pg_catalog.pg_class as c where c.relowner = r.oid))),
            pg_catalog.strpos(
                pg_catalog.obj_description(pg_catalog.to_regnamespace('api'), 'pg_namespace'), $1) > 0
        """)

    init(_ rows: Rows) {
        isMigrated = rows.text(0, 0) == "t"
        isAbovePolicies = rows.text(0, 1) == "t"
        isSigned = rows.text(0, 2) == "t"
    }

    /// Why it cannot be served; nil where it can.
    var shortfall: String? {
        guard isMigrated else {
            return "The database is not migrated: run `postline migrate`, or `postline serve --migrate`."
        }
        guard !isAbovePolicies else {
            return """
                The login role is a superuser, the owner of tables, or bypasses row-level security, so that the \
                rules would not hold for it: connect as the role postline, or as a member of its roles.
                """
        }
        guard isSigned else {
            return """
                The database was never migrated by this version of Postline: run its `postline migrate`, or \
                `postline serve --migrate`.
                """
        }
        return nil
    }
}
