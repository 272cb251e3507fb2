import Foundations
import Postgres
import Schema

/// A database that is queried in read-only transactions.
struct DatabaseUnderTest: Sendable {
    private let connection: Connection

    /// True if the connection goes through a pooler, which has to invent the backend's process id.
    let isPooled: Bool

    /// The difference of the database's clock to ours and its uncertainty, in seconds.
    let clock: (ahead: Double, give: Double)

    /// Connects, and reports success or the reason of a failure.
    static func reached(
        _ url: String, _ check: String, on reactor: Reactor, _ report: (Finding) -> Void
    ) async -> DatabaseUnderTest? {
        let variable = "POSTLINE_\(check == "database" ? "" : "\(check.uppercased())_")DATABASE_URL"
        do {
            let database = try await DatabaseUnderTest(url, on: reactor)
            report(
                .ok(check, "The database is reached over \(variable)\(database.isPooled ? ", through a pooler" : "")."))
            return database
        } catch {
            report(
                .problem(
                    check, "The database is not reached over \(variable): \(error).",
                    "Check host, port, database, role and password there, and that PostgreSQL runs and lets this machine "
                        + "in (pg_hba.conf, firewall)."))
            return nil
        }
    }

    private init(_ url: String, on reactor: Reactor) async throws(PostgresError) {
        connection = try await Connection.open(url, on: reactor)
        let before = WallClock.seconds
        let start = ContinuousClock.now
        let answer = try await Self.query(.server, [], over: connection)
        let roundTrip = (ContinuousClock.now - start) / .seconds(1)
        isPooled = answer.text("process") != "\(connection.backendProcessID)"
        clock = (answer.number("clock") - before - roundTrip / 2, roundTrip / 2)
    }

    func query(_ query: DoctorQuery) async throws(PostgresError) -> QueryResult {
        let tables = ExpectedSchema.tables.arrayLiteral
        return try await Self.query(query, query.hasTablesParameter ? [tables] : [], over: connection)
    }

    /// Runs a query with parameters.
    func query(_ query: DoctorQuery, _ parameters: [String?]) async throws(PostgresError) -> QueryResult {
        try await Self.query(query, parameters, over: connection)
    }

    func leave() async { await connection.close() }

    private static func query(
        _ query: DoctorQuery, _ parameters: [String?], over connection: Connection
    ) async throws(PostgresError) -> QueryResult {
        let statement = Statement("doctor.\(query.rawValue)", query.sql)
        let rows = try await connection.run(
            [Call(readOnly), Call(statement, parameters)], deadline: .seconds(15))[1]
        return QueryResult(rows)
    }

    private static let readOnly = Statement(
        "doctor.read_only", "select set_config('transaction_read_only', 'on', true)")
}

/// The rows of a result, by column name.
struct QueryResult: Sendable {
    private let rows: Rows
    private let columns: [String: Int]

    init(_ rows: Rows) {
        self.rows = rows
        columns = Dictionary(
            (0..<rows.columnCount).map { (rows.columnName($0) ?? "", $0) }, uniquingKeysWith: { first, _ in first })
    }

    var indices: Range<Int> { 0..<rows.count }

    /// Returns a value, or nil for null, a missing row or a missing column.
    func text(_ column: String, _ row: Int = 0) -> String? {
        guard let place = columns[column], indices.contains(row) else { return nil }
        return rows.text(row, place)
    }

    func isTrue(_ column: String, _ row: Int = 0) -> Bool { text(column, row) == "t" }

    func integer(_ column: String, _ row: Int = 0) -> Int { text(column, row).flatMap { Int($0) } ?? 0 }

    func number(_ column: String, _ row: Int = 0) -> Double { text(column, row).flatMap { Double($0) } ?? 0 }

    /// Returns all values of a column that are not null.
    func column(_ name: String) -> [String] { indices.compactMap { text(name, $0) } }
}
