import BoundedWait
import Foundation
import Logging
import Postgres
import Schema
import Testing

/// A test database with the schema and the dev world, on the server of `make test`.
///
/// It is a copy of a template that is migrated once per run.
struct TestDatabase: Sendable {
    let name: String

    /// Returns the URL of a user, or the superuser, for a database.
    private let server: @Sendable (_ user: String?, _ database: String) -> String

    /// The URL of the service's login role.
    var url: String { server("postline", name) }

    /// The superuser's URL.
    var adminURL: String { server(nil, name) }

    /// Returns the URL of another role.
    func url(user: String) -> String { server(user, name) }

    init(name: String, server: @escaping @Sendable (_ user: String?, _ database: String) -> String) {
        self.name = name
        self.server = server
    }

    /// Runs a body with a database that is dropped afterwards.
    static func with<Value: Sendable>(
        migrated: Bool = true, _ body: @Sendable (TestDatabase) async throws -> Value
    ) async throws -> Value {
        // Each test uses up to a dozen connections and much of a processor.
        let suite = Test.currentSuite
        return try await slots.run(of: suite) {
            let start = ContinuousClock.now
            defer { TestDurations.add(ContinuousClock.now - start, to: suite) }
            if migrated { try await template.value }
            let name = "test_\(suite.lowercased())_\(UInt32.random(in: 0 ... .max))"
            try await create(name, template: migrated ? templateName : "template1")
            let value: Value
            do {
                value = try await body(TestDatabase(name: name, server: url))
            } catch {
                try? await drop(name)
                throw error
            }
            try await drop(name)
            return value
        }
    }

    /// The directory of the server's socket.
    var socketDirectory: String {
        URLComponents(string: adminURL)?.queryItems?.first { $0.name == "host" }?.value ?? ""
    }

    /// The backends that listen for nodes, as the superuser sees them, by their last statement.
    static let listeners = """
        from pg_stat_activity where datname = current_database() and usename = 'postline' \
        and (query ilike 'listen %' or query like '%pg_listening_channels%')
        """

    /// Returns a query for the number of statements that wait for a lock, of those that match a regular expression.
    static func lockWaiters(_ pattern: String = "") -> String {
        """
        select count(*) from pg_stat_activity
         where datname = current_database() and wait_event_type = 'Lock' and query ~ '\(pattern)'
        """
    }

    /// Runs statements as the superuser, like `psql`, without suppressing notifications.
    func psql(_ sql: String) async throws {
        try await Self.execute(sql, at: adminURL)
    }

    /// Returns the first column of a query as the superuser.
    func column(_ sql: String) async throws -> [String?] {
        try await withConnection { try await Self.column(sql, over: $0) }
    }

    /// Returns the first column of a query over a connection.
    static func column(_ sql: String, over connection: Connection) async throws -> [String?] {
        let rows = try await connection.run([Call(Statement("q", sql))], deadline: watchdogLimit)[0]
        return (0..<rows.count).map { rows.text($0, 0) }
    }

    /// Returns the single value of a query as the superuser.
    func value(_ sql: String) async throws -> String? {
        try await column(sql).first ?? nil
    }

    /// Opens a connection as the superuser or another role. The caller closes it.
    func connect(as user: String? = nil) async throws -> Connection {
        try await Connection.open(user.map(url(user:)) ?? adminURL, on: Self.reactor, options: Self.options)
    }

    /// Runs a body with a superuser connection, which is closed afterwards.
    func withConnection<Value>(_ body: (Connection) async throws -> Value) async throws -> Value {
        try await Self.withConnection(to: adminURL, body)
    }

    private static func withConnection<Value>(
        to url: String, _ body: (Connection) async throws -> Value
    ) async throws -> Value {
        let connection = try await Connection.open(url, on: reactor, options: options)
        do {
            let value = try await body(connection)
            await connection.close()
            return value
        } catch {
            await connection.close()
            throw error
        }
    }

    private static let reactor = Reactor(name: "test")

    /// Options without a timeout that a busy machine could exceed.
    private static let options = {
        var options = ConnectionOptions()
        options.connectTimeout = watchdogLimit
        return options
    }()
    private static let slots = AsyncSemaphore(6)

    private static func execute(_ sql: String, at url: String) async throws {
        _ = try await withConnection(to: url) { try await $0.execute(sql) }
    }

    private static func create(_ name: String, template: String) async throws {
        // The strategy `file_copy` takes half the time of the WAL's.
        try await execute(
            "create database \(name) template \(template) strategy file_copy", at: url(user: nil, database: "postgres"))
    }

    private static func drop(_ name: String) async throws {
        try await execute("drop database \(name) with (force)", at: url(user: nil, database: "postgres"))
    }

    private static let templateName = "test_template_\(ProcessInfo.processInfo.processIdentifier)"

    /// Created once for all suites.
    private static let template = Task {
        try await create(templateName, template: "template1")
        let migrator = Migrator(url: url(user: nil, database: templateName), logger: .quiet)
        try await migrator.migrate(loginRole: .init(name: "postline", password: nil))
        try await migrator.seed()
        // The same password hashed at the least cost, since thousands of sign-ins would take minutes of processor time.
        // And a busy machine must not split the page of a test that reads one.
        try await execute(
            """
            create or replace function app.page_time() returns interval language sql immutable parallel safe
                begin atomic select interval '1 minute'; end;
            update auth.users set encrypted_password = \
            '$argon2id$v=19$m=8,t=1,p=1$b2YgYWxsIHRoZSB0ZXN0cw$uv1Z7jlNfDRGOmCZKkEW0mfLOdLWp3tnSIQVDtzP3i8'
            """, at: url(user: nil, database: templateName))
        try await withConnection(to: url(user: nil, database: templateName)) {
            try await migrator.recordCatalogue(over: $0)
        }
        // A database with open connections cannot be copied.
        try await execute(
            """
            alter database \(templateName) with allow_connections false;
            select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '\(templateName)'
            """, at: url(user: nil, database: "postgres"))
    }

    /// Returns the URL of the test server with another user and database.
    private static func url(user: String?, database: String) -> String {
        guard let base = ProcessInfo.processInfo.environment["POSTLINE_TEST_DATABASE_URL"],
            var components = URLComponents(string: base)
        else { fatalError("POSTLINE_TEST_DATABASE_URL is not set: run the tests with `make test`.") }
        components.path = "/\(database)"
        if let user {
            // Without a host, the user is a query parameter.
            if components.queryItems?.contains(where: { $0.name == "user" }) == true {
                components.queryItems = components.queryItems?.map {
                    $0.name == "user" ? URLQueryItem(name: "user", value: user) : $0
                }
            } else {
                components.user = user
            }
        }
        return components.string ?? base
    }
}

extension Test {
    /// The name of the file of the current test, without extension, or "other" outside of tests.
    static var currentSuite: String {
        current?.sourceLocation.fileName.replacing(".swift", with: "") ?? "other"
    }
}

extension Logger {
    /// A logger without output, since tests report by expectations.
    static var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}
