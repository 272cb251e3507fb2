package import Postgres

/// Recording and comparing indexes and constraints.
extension Migrator {
    /// Refuses a database that has lost indexes or constraints, before anything is written.
    ///
    /// - Throws: `MigrationError.obstructed`.
    func refuseLosses(over connection: Connection) async throws {
        guard try await hasSettings(over: connection),
            let text = try await recorded("structure", over: connection)
        else { return }
        let losses = SchemaStructure.losses(try await structureRows(text, over: connection))
        guard losses.isEmpty else {
            throw MigrationError.obstructed(losses.map { "\($0.message) \($0.advice)" })
        }
    }

    /// Returns the existing indexes and constraints.
    package func structure(over connection: Connection) async throws -> SchemaStructure {
        SchemaStructure(try await structureRows(nil, over: connection))
    }

    /// Records the indexes and constraints that files created, changed and dropped, in the transaction that applies
    /// them.
    ///
    /// - Parameter isFirst: true for the first migration, which creates the table for the records.
    func recordStructure(
        changedFrom before: SchemaStructure, isFirst: Bool, over connection: Connection
    ) async throws {
        let after = try await structure(over: connection)
        guard before != after, try await hasSettings(over: connection) else { return }
        let text = try await recorded("structure", over: connection)
        // A database of a version without records is recorded completely at the end.
        guard text != nil || isFirst else { return }
        var structure = SchemaStructure(recorded: text)
        structure.apply(from: before, to: after)
        try await record("structure", structure.text, over: connection)
    }

    /// Records all indexes and constraints, in a database of a version without records.
    func recordStructure(over connection: Connection) async throws {
        guard try await recorded("structure", over: connection) == nil else { return }
        try await record(
            "structure", try await structure(over: connection).withoutAccounts.text, over: connection)
    }

    private func structureRows(_ recorded: String?, over connection: Connection) async throws -> [SchemaStructure.Row] {
        let statement = Statement("structure", DoctorQuery.structure.sql)
        let rows = try await connection.run([Call(statement, [Self.tables, recorded])], deadline: nil)[0]
        let columns = Dictionary(
            (0..<rows.columnCount).map { (rows.columnName($0) ?? "", $0) }, uniquingKeysWith: { first, _ in first })
        return (0..<rows.count).map { row in
            SchemaStructure.Row { name in columns[name].flatMap { rows.text(row, $0) } }
        }
    }

    private func hasSettings(over connection: Connection) async throws -> Bool {
        let rows = try await connection.execute("select pg_catalog.to_regclass('app.settings') is not null")[0]
        return rows.text(0, 0) == "t"
    }
}
