import Foundation
import Logging
import Messaging
import Postgres

/// A database of a test's own, with the whole schema and the dev world, on the server of `make test`.
///
/// It is a copy of a template that is migrated once a run, and is dropped by the server's end.
struct TestDatabase: Sendable {
    let name: String

    /// As the service logs in.
    var url: String { Self.url(user: "postline", database: name) }

    /// As the superuser.
    var adminURL: String { Self.url(user: nil, database: name) }

    static func make() async throws -> TestDatabase {
        try await template.value
        let name = "test_\(UInt64.random(in: 0 ... .max))"
        try await execute("create database \(name) template \(templateName)", at: url(user: nil, database: "postgres"))
        return TestDatabase(name: name)
    }

    /// An empty database: nothing is migrated.
    static func makeEmpty() async throws -> TestDatabase {
        let name = "test_\(UInt64.random(in: 0 ... .max))"
        try await execute("create database \(name)", at: url(user: nil, database: "postgres"))
        return TestDatabase(name: name)
    }

    /// Runs statements as the superuser, as `psql` does: nothing keeps the doorbell quiet.
    func psql(_ sql: String) async throws {
        try await Self.execute(sql, at: adminURL)
    }

    /// The first column of a query's rows, as the superuser.
    func column(_ sql: String) async throws -> [String?] {
        let connection = try await Connection.open(adminURL, on: Reactor(name: "test"))
        let rows = try await connection.run([Call(Statement("q", sql))], deadline: .seconds(30))[0]
        await connection.close()
        return (0..<rows.count).map { rows.text($0, 0) }
    }

    /// The one value of a query, as the superuser.
    func value(_ sql: String) async throws -> String? {
        try await column(sql).first ?? nil
    }

    private static func execute(_ sql: String, at url: String) async throws {
        let connection = try await Connection.open(url, on: Reactor(name: "test"))
        do {
            _ = try await connection.execute(sql)
        } catch {
            await connection.close()
            throw error
        }
        await connection.close()
    }

    private static let templateName = "test_template_\(ProcessInfo.processInfo.processIdentifier)"

    /// Made once for all suites.
    private static let template = Task {
        try await execute("create database \(templateName)", at: url(user: nil, database: "postgres"))
        let migrator = Migrator(url: url(user: nil, database: templateName), logger: .quiet)
        try await migrator.migrate(loginRole: .init(name: "postline", password: nil))
        try await migrator.seed()
    }

    /// The server of `make test`, with another user and database.
    private static func url(user: String?, database: String) -> String {
        guard let base = ProcessInfo.processInfo.environment["POSTLINE_TEST_DATABASE_URL"],
            var components = URLComponents(string: base)
        else { fatalError("POSTLINE_TEST_DATABASE_URL is not set: run the tests with `make test`.") }
        components.path = "/\(database)"
        if let user { components.user = user }
        return components.string ?? base
    }
}

extension Logger {
    /// Tests speak by what they expect.
    static var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}
