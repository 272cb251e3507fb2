import Foundations
import Postgres
import Schema

/// Checks that the schema matches this binary.
struct MigrationCheck: Sendable {
    let database: DatabaseUnderTest
    let admin: DatabaseUnderTest?

    private static let check = "migrations"

    func findings() async throws(PostgresError) -> [Finding] {
        let isMigrated = try await database.query(.owner).isTrue("is_migrated")
        guard let admin else {
            let unseen = Finding.skipped(
                check, "Which migrations were applied is seen by the owner alone.",
                "Set POSTLINE_ADMIN_DATABASE_URL and ask again.")
            return isMigrated ? [unseen] : [Self.notMigrated]
        }
        let owner = try await admin.query(.owner)
        let ability = Self.ability(owner)
        guard isMigrated, owner.isTrue("owns") else {
            let obstacles = isMigrated ? [] : try await Self.obstacles(to: MigrationPlan(applied: nil), admin)
            return [ability] + obstacles + (isMigrated ? [] : [Self.notMigrated])
        }
        let ledger = try await admin.query(.ledger)
        let applied = Dictionary(zip(ledger.column("name"), ledger.column("hash"))) { first, _ in first }
        return [ability] + Self.owners(try await admin.query(.owners))
            + (try await Self.obstacles(to: MigrationPlan(applied: Set(applied.keys)), admin))
            + Self.state(LedgerState(applied: applied))
            + (try await Self.schema(LedgerState(applied: applied), admin))
    }

    /// Compares the schema with what `migrate` recorded: indexes and constraints by their names and validity, since their
    /// text depends on the version of PostgreSQL; functions, views, triggers and policies by their digests.
    private static func schema(
        _ state: LedgerState, _ admin: DatabaseUnderTest
    ) async throws(PostgresError) -> [Finding] {
        // The schema of another version must be migrated first.
        guard state.missing.isEmpty, state.edited.isEmpty, state.unknown.isEmpty, !state.isStale else { return [] }
        let recorded = try await admin.query(.recorded)
        func value(_ name: String) -> String? {
            recorded.indices.first { recorded.text("name", $0) == name }.flatMap { recorded.text("value", $0) }
        }
        let tables = ExpectedSchema.tables.arrayLiteral
        let structure = try await admin.query(.structure, [tables, value("structure")])
        let losses = SchemaStructure.losses(
            structure.indices.map { row in SchemaStructure.Row { structure.text($0, row) } })
        var findings = losses.map { Finding.problem("schema", $0.message, $0.advice) }
        let catalogue = try await admin.query(.catalogue, [tables, ExpectedSchema.policies.sorted().arrayLiteral])
        let digests = CatalogueDigests(zip(catalogue.column("part"), catalogue.column("digest")).map { ($0, $1) })
        let changed = digests.differences(from: value("catalogue") ?? "")
        if !changed.isEmpty {
            findings.append(
                .problem(
                    "schema",
                    "Not all \(changed.joined(separator: ", ")) are as `postline migrate` left them.",
                    "Run `postline migrate`, which creates them again."))
        }
        return findings.isEmpty
            ? [
                .ok(
                    "schema",
                    "Indexes and constraints are there and valid; functions, views, triggers and policies are as "
                        + "`postline migrate` left them."
                )
            ] : findings
    }

    /// Reports the obstacles that `migrate` would refuse. Missing rights of the role and the encoding have checks of
    /// their own.
    private static func obstacles(
        to plan: MigrationPlan, _ admin: DatabaseUnderTest
    ) async throws(PostgresError) -> [Finding] {
        let answer = try await admin.query(.obstacles, plan.parameters)
        return answer.indices.filter { answer.integer("place", $0) < 4 }.map {
            .problem(check, answer.text("obstacle", $0) ?? "", "Until then `postline migrate` changes nothing.")
        }
    }

    private static func owners(_ answer: QueryResult) -> [Finding] {
        let names = answer.indices.map { row in
            "\(answer.text("kind", row) ?? "") \(answer.text("name", row) ?? "") (\(answer.text("owner", row) ?? ""))"
        }
        guard !names.isEmpty else { return [] }
        return [
            .problem(
                "owners",
                "Not everything belongs to the role \(answer.text("wanted") ?? ""), which the ledger belongs to: "
                    + "\(RoleCheck.some(names)).",
                "Run `postline migrate` as a role that may change owners; it makes that role the owner of everything.")
        ]
    }

    private var check: String { Self.check }

    private static let notMigrated = Finding.problem(
        check, "The database is not migrated.", "Run `postline migrate`, or `postline serve --migrate`.")

    private static func ability(_ owner: QueryResult) -> Finding {
        let name = owner.text("name") ?? ""
        if owner.isTrue("is_migrated") {
            return owner.isTrue("owns")
                ? .ok("admin", "The role \(name) owns Postline's schemas.")
                : .problem(
                    "admin", "The role \(name) of POSTLINE_ADMIN_DATABASE_URL does not own Postline's schemas.",
                    "Let POSTLINE_ADMIN_DATABASE_URL name the role that migrated first.")
        }
        guard owner.isTrue("may_create"), owner.isTrue("may_make_roles") else {
            return .problem(
                "admin", "The role \(name) of POSTLINE_ADMIN_DATABASE_URL may not make schemas and roles here.",
                "Grant it create on the database, and createrole.")
        }
        return .ok("admin", "The role \(name) may make schemas and roles.")
    }

    static func state(_ state: LedgerState) -> [Finding] {
        var findings: [Finding] = []
        if !state.missing.isEmpty {
            findings.append(
                .problem(
                    check, "Migrations are to be applied yet: \(RoleCheck.some(state.missing)).",
                    "Run `postline migrate`."))
        }
        if !state.edited.isEmpty {
            findings.append(
                .problem(
                    check, "Migrations were edited after they had been applied: \(RoleCheck.some(state.edited)).",
                    "Use the binary that applied them, or a later release: `migrate` refuses this one."))
        }
        if !state.unknown.isEmpty {
            findings.append(
                .warning(
                    check,
                    "The database has migrations that this binary does not know: \(RoleCheck.some(state.unknown)).",
                    "A later version was here: use that one."))
        }
        if state.isStale {
            findings.append(
                .problem(
                    check, "Functions, grants or policies are those of another version.", "Run `postline migrate`."))
        }
        return findings.isEmpty
            ? [.ok(check, "All migrations are applied, and functions and policies are this binary's.")]
            : findings
    }
}
