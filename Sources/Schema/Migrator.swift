import Foundations
package import Logging
package import Postgres

/// Migrates a database to the schema of this binary.
///
/// It first checks for obstacles (`sql/doctor/obstacles.sql`) and refuses before writing anything. Then it applies new
/// migrations, each in its own transaction, and `sql/functions/` with `sql/policies.sql` if one of them has changed.
/// These and `sql/bootstrap/` are also applied if functions, triggers, owners, rights, policies or roles differ from
/// the last migration (`sql/doctor/catalogue.sql`). So a dump that was restored into another cluster, or without some
/// objects or privileges, is repaired.
///
/// Several nodes may migrate at once: each transaction locks the ledger, which only the owner may lock. A table in use
/// is released after a second and retried, so other transactions never wait long behind a migration.
package struct Migrator: Sendable {
    private let url: String
    private let logger: Logger

    /// - Parameter url: the owner's connection string.
    package init(url: String, logger: Logger) {
        self.url = url
        self.logger = logger
    }

    /// Migrates, and returns the applied files in order.
    ///
    /// - Throws: `MigrationError`.
    @discardableResult
    package func migrate(loginRole: LoginRole?) async throws -> [AppliedFiles] {
        try await withConnection { connection in
            let ledger = try await checkedLedger(over: connection)
            try await refuseLosses(over: connection)
            // Objects of the ledger and the bootstrap are recorded with those of the first migration.
            let initial = ledger.isEmpty ? try await structure(over: connection) : nil
            try await makeLedger(over: connection)
            // The settings table came with the first migration, the digest with the functions.
            let isWhole = ledger["functions"] != nil
            let hasDrifted = isWhole ? try await catalogueDiffers(over: connection) : false
            let needsRepair = hasDrifted || !isWhole && !ledger.isEmpty
            var applied: [AppliedFiles] = []
            if needsRepair { try await restoreOwners(over: connection) }
            applied += try await apply(
                SQLFile.files(in: "bootstrap"), as: "bootstrap", always: needsRepair, over: connection)
            applied += try await applyMigrations(since: initial, over: connection)
            let files = SQLFile.functions + SQLFile.files(in: "policies.sql")
            let changed = try await apply(
                files, as: "functions", called: "functions and policies", over: connection)
            applied += changed
            if hasDrifted, changed.isEmpty {
                _ = try await applyUntilFree(files, over: connection)
                applied.append(
                    AppliedFiles(files, called: "functions and policies again, since rights or definitions changed"))
            }
            try await transaction(over: connection) {
                if let loginRole {
                    _ = try await connection.run(
                        [Call(Self.createLoginRole, [loginRole.name, loginRole.password])], deadline: nil)
                }
                // Cursors and transaction ids of another cluster, which came with a dump, are meaningless here.
                _ = try await connection.execute("select app.renew_epoch_after_restore()")
                _ = try await connection.run([Call(Self.recordSchemaVersion, [SQLFile.signature])], deadline: nil)
                try await recordCatalogue(over: connection)
                try await recordStructure(over: connection)
            }
            return applied
        }
    }

    /// Inserts the dev world of `sql/seed.sql`, once.
    package func seed() async throws {
        try await withConnection { connection in
            guard try await appliedHash(of: "seed", over: connection) == nil else { return }
            _ = try await apply(SQLFile.files(in: "seed.sql"), as: "seed", over: connection)
        }
    }

    /// Returns the reason why this binary cannot serve the database, or nil.
    ///
    /// - Parameter url: a connection string of the service, which need not be the owner.
    package static func incompatibility(url: String, logger: Logger) async throws -> String? {
        try await Migrator(url: url, logger: logger).withConnection { connection in
            SchemaState(try await connection.run(SchemaState.calls, deadline: .seconds(10))).incompatibility
        }
    }

    /// Returns the reason why a pool's database cannot be served now, or nil.
    package static func incompatibility(over pool: Pool) async throws(PostgresError) -> String? {
        var state = SchemaState(try await pool.run(SchemaState.calls, deadline: .seconds(5)))
        // A session keeps the state at its start. By now the pool has replaced read-only sessions.
        if state.isReadOnly { state = SchemaState(try await pool.run(SchemaState.calls, deadline: .seconds(5))) }
        return state.incompatibility ?? (state.isReadOnly ? readOnly : nil)
    }

    private static let readOnly =
        "The database accepts no writes: it is a standby, or default_transaction_read_only is on. Set "
        + "POSTLINE_DATABASE_URL to the primary, or turn that setting off."

    private func withConnection<Value: Sendable>(
        _ body: (Connection) async throws -> Value
    ) async throws -> Value {
        let connection: Connection
        do {
            connection = try await Connection.open(url, on: Reactor(name: "migrate"), options: .logging(to: logger))
        } catch {
            throw MigrationError.unreachable("\(error)")
        }
        return try await connection.use(body)
    }
}

extension Migrator {
    /// Returns the hash of each applied step by name, or nil if there is no ledger.
    private func readLedger(over connection: Connection) async throws -> [String: String]? {
        let state = try await connection.execute(Self.ledgerState)[0]
        guard state.text(0, 0) == "t" else { return nil }
        guard state.text(0, 1) == "t" else {
            throw MigrationError.obstructed([
                "The table app.migrations exists and is not Postline's, which needs the schema app: rename that schema, "
                    + "or use a separate database for Postline."
            ])
        }
        let rows = try await connection.execute(DoctorQuery.ledger.sql)[0]
        return Dictionary((0..<rows.count).map { (rows.text($0, 0) ?? "", rows.text($0, 1) ?? "") }) { $1 }
    }

    /// Returns the ledger, if the database can be migrated.
    ///
    /// - Throws: `MigrationError.obstructed`.
    private func checkedLedger(over connection: Connection) async throws -> [String: String] {
        var ledger = try await readLedger(over: connection)
        while true {
            do {
                try await MigrationPlan(applied: ledger.map { Set($0.keys) }).refuseObstacles(over: connection)
                return ledger ?? [:]
            } catch {
                // Another migrator may have created the conflicting objects meanwhile.
                let now = try await readLedger(over: connection)
                if now == ledger { throw error }
                ledger = now
            }
        }
    }

    /// Returns true if definitions, owners, rights, policies or roles differ from the last migration's record.
    private func catalogueDiffers(over connection: Connection) async throws -> Bool {
        let recorded = try await recorded("catalogue", over: connection)
        return try await recorded != catalogueDigests(over: connection)
    }

    /// Records the definitions, owners, rights, policies and roles as those of the last migration.
    package func recordCatalogue(over connection: Connection) async throws {
        try await record("catalogue", try await catalogueDigests(over: connection), over: connection)
    }

    private func catalogueDigests(over connection: Connection) async throws -> String {
        let statement = Statement("catalogue", DoctorQuery.catalogue.sql)
        let parameters = [Self.tables, ExpectedSchema.policies.sorted().arrayLiteral]
        let rows = try await connection.run([Call(statement, parameters)], deadline: nil)[0]
        return CatalogueDigests((0..<rows.count).map { (rows.text($0, 0) ?? "", rows.text($0, 1) ?? "") }).text
    }

    /// Returns a value of `app.settings`, or nil.
    package func recorded(_ name: String, over connection: Connection) async throws -> String? {
        let rows = try await connection.execute(DoctorQuery.recorded.sql)[0]
        return (0..<rows.count).first { rows.text($0, 0) == name }.flatMap { rows.text($0, 1) }
    }

    /// Sets a value of `app.settings`.
    package func record(_ name: String, _ value: String, over connection: Connection) async throws {
        _ = try await connection.run([Call(Self.recordSetting, [name, value])], deadline: nil)
    }

    /// Makes the ledger's owner the owner of all objects, since functions run with their owner's rights, and enables
    /// the triggers of foreign keys.
    private func restoreOwners(over connection: Connection) async throws {
        let statement = Statement("owners", DoctorQuery.owners.sql)
        let rows = try await connection.run([Call(statement, [Self.tables])], deadline: nil)[0]
        let disabled = try await connection.run([Call(Self.disabledTriggers, [Self.tables])], deadline: nil)[0]
        let changes =
            (0..<rows.count).compactMap { rows.text($0, 4) } + (0..<disabled.count).compactMap { disabled.text($0, 0) }
        guard !changes.isEmpty else { return }
        do {
            _ = try await connection.execute(changes.joined(separator: "; "))
        } catch {
            throw MigrationError.failed("doctor/owners.sql", "\(error)")
        }
    }

    /// The statements that enable the triggers of foreign keys. Other triggers are created again with the functions.
    private static let disabledTriggers = Statement(
        "disabled_triggers",
        """
        select format('alter table %s enable trigger %I', t.tgrelid::regclass, t.tgname)
          from pg_trigger t join pg_class c on c.oid = t.tgrelid join pg_namespace n on n.oid = c.relnamespace
         where t.tgisinternal and t.tgenabled <> 'O' and n.nspname || '.' || c.relname = any ($1::text[])
        """)

    package static var tables: String { ExpectedSchema.tables.arrayLiteral }

    /// Applies repeatable files together if one of them has changed.
    ///
    /// - Parameters:
    ///   - name: their name in the ledger.
    ///   - title: their name for people; nil if the same.
    ///   - always: true to apply them silently even if unchanged.
    ///   - initial: the indexes and constraints before unrecorded files were applied, or nil.
    private func apply(
        _ files: [SQLFile], as name: String, called title: String? = nil, always: Bool = false,
        since initial: SchemaStructure? = nil, over connection: Connection
    ) async throws -> [AppliedFiles] {
        let before = try await appliedHash(of: name, over: connection)
        guard always || before != files.hash else { return [] }
        var structure = SchemaStructure([])
        let isNew = try await applyUntilFree(files, over: connection) {
            let recorded = try await appliedHash(of: name, over: connection)
            guard always || recorded != files.hash else { return false }
            structure = if let initial { initial } else { try await self.structure(over: connection) }
            return true
        } afterwards: {
            _ = try await connection.run([Call(Self.record, [name, files.hash])], deadline: nil)
            if name == "functions" { try await recordCatalogue(over: connection) }
            try await recordStructure(changedFrom: structure, isFirst: initial != nil, over: connection)
        }
        return before == files.hash || !isNew ? [] : [AppliedFiles(files, called: title ?? name, insteadOf: before)]
    }

    /// Applies the files together if needed, and retries while other transactions use a table that they change. Returns
    /// false if they were not needed.
    ///
    /// - Parameters:
    ///   - isNeeded: runs in the applying transaction, which excludes other migrators.
    ///   - afterwards: runs at the end of that transaction.
    private func applyUntilFree(
        _ files: [SQLFile], over connection: Connection, if isNeeded: () async throws -> Bool = { true },
        afterwards: () async throws -> Void = {}
    ) async throws -> Bool {
        var backoff = Backoff(base: Self.lockWait, limit: .seconds(10))
        while true {
            do {
                return try await transaction(over: connection) {
                    guard try await isNeeded() else { return false }
                    _ = try await connection.execute("set local lock_timeout = '\(Self.lockWait.milliseconds)'")
                    for file in files { try await run(file, over: connection) }
                    try await afterwards()
                    return true
                }
            } catch let error as TableInUse {
                let users = try await connection.execute(Self.users)[0]
                logger.notice(
                    "a table to be changed is in use; retrying",
                    metadata: ["file": "sql/\(error.path)", "used_by": "\(users.text(0, 0) ?? "somebody")"])
                // Others get at least as long as they waited behind this.
                try await Task.sleep(for: Self.lockWait + backoff.next())
            }
        }
    }

    /// Runs a transaction that excludes other migrators.
    private func transaction<Value: Sendable>(
        over connection: Connection, _ body: () async throws -> Value
    ) async throws -> Value {
        // Others can still read. It waits for another migrator's current file.
        _ = try await connection.execute("begin; lock table app.migrations in share row exclusive mode")
        do {
            let value = try await body()
            _ = try await connection.execute("commit")
            return value
        } catch {
            _ = try? await connection.execute("rollback")
            throw error
        }
    }

    /// Creates the ledger if missing. If two migrators do it at once, one retries and finds it.
    private func makeLedger(over connection: Connection) async throws {
        for _ in 1...5 {
            do {
                _ = try await connection.execute(Self.ledger)
                return
            } catch {
                guard case .server(let refusal) = error, Self.wasCreatedConcurrently(refusal.sqlState.rawValue) else {
                    throw error
                }
            }
        }
        _ = try await connection.execute(Self.ledger)
    }

    /// Returns true for the SQLSTATEs of a concurrently created schema, table or catalogue entry: unique_violation,
    /// duplicate_schema, duplicate_table.
    private static func wasCreatedConcurrently(_ sqlState: String) -> Bool {
        ["23505", "42P06", "42P07"].contains(sqlState)
    }

    /// Applies the migrations in the order of their names. An applied one must be unchanged.
    private func applyMigrations(
        since initial: SchemaStructure?, over connection: Connection
    ) async throws -> [AppliedFiles] {
        var applied: [AppliedFiles] = []
        var initial = initial
        for file in SQLFile.files(in: "migrations") {
            switch try await appliedHash(of: file.name, over: connection) {
            case file.hash: continue
            case .some: throw MigrationError.edited(file.name)
            case nil:
                applied += try await apply(
                    [file], as: file.name, called: file.path, since: initial, over: connection)
                initial = nil
            }
        }
        return applied
    }

    private func run(_ file: SQLFile, over connection: Connection) async throws {
        do {
            _ = try await connection.execute(file.sql)
        } catch .server(let error) where error.sqlState == .lockNotAvailable {
            throw TableInUse(path: file.path)
        } catch {
            throw MigrationError.failed(file.path, "\(error)")
        }
    }

    private func appliedHash(of name: String, over connection: Connection) async throws -> String? {
        let rows = try await connection.run([Call(Self.recorded, [name])], deadline: nil)[0]
        return rows.count == 0 ? nil : rows.text(0, 0)
    }

    /// Another transaction uses a table that this file changes.
    private struct TableInUse: Error {
        let path: String
    }

    /// The lock timeout for tables. New transactions wait behind this one, and a dump may hold the table for hours.
    private static let lockWait = Duration.seconds(1)

    /// A query for transactions that have used one of our tables for longer than that.
    private static let users = """
        select string_agg(format('process %s (%s)', a.pid, concat_ws(', ', a.usename, nullif(a.application_name, ''))),
                          ', ' order by a.xact_start)
          from pg_stat_activity a
         where a.xact_start < clock_timestamp() - interval '\(lockWait.milliseconds)' and a.pid <> pg_backend_pid()
           and a.pid in (
                select l.pid from pg_locks l join pg_class c on c.oid = l.relation
                 where l.granted and c.relnamespace in (to_regnamespace('public'), to_regnamespace('app')))
        """

    /// The ledger's table. This and its queries are not functions, since they precede the first function.
    private static let ledger = """
        do $$
        begin
            if to_regclass('app.migrations') is null then
                create schema if not exists app;
                create table app.migrations (
                    name text primary key,
                    hash text not null,
                    applied_at timestamptz not null default now()
                );
                alter table app.migrations enable row level security;
            end if;
        end
        $$;
        """

    /// A query for two booleans: a ledger exists, and it is Postline's. Another program may use the same name.
    private static let ledgerState = """
        select pg_catalog.to_regclass('app.migrations') is not null,
               (select pg_catalog.count(*) = 3 from pg_catalog.pg_attribute a
                 where a.attrelid = pg_catalog.to_regclass('app.migrations') and not a.attisdropped
                   and (a.attname, pg_catalog.format_type(a.atttypid, null))
                       in (('name', 'text'), ('hash', 'text'), ('applied_at', 'timestamp with time zone')))
        """

    private static let recordSetting = Statement(
        "record_setting",
        """
        insert into app.settings (name, value) values ($1, $2) on conflict (name) do update set value = excluded.value
        """)

    private static let recorded = Statement("recorded", "select hash from app.migrations where name = $1")

    private static let record = Statement(
        "record",
        """
        insert into app.migrations (name, hash) values ($1, $2)
        on conflict (name) do update set hash = excluded.hash, applied_at = now()
        """)

    private static let createLoginRole = Statement("app.create_login_role", "select app.create_login_role($1, $2)")

    private static let recordSchemaVersion = Statement(
        "app.record_schema_version", "select app.record_schema_version($1)")
}
