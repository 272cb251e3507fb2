import Foundations
import BoundedWait
import Logging
import Testing

@testable import Postgres

/// All tests that use the database. They run one after another, since some terminate its backends.
@Suite(.serialized) enum DatabaseTests {}

/// The PostgreSQL server of the tests.
enum TestDatabase {
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    /// The connection string of a superuser of the tests' private cluster.
    static var url: String {
        get throws {
            guard let value = unsafe getenv("POSTLINE_TEST_DATABASE_URL") else {
                throw Missing(
                    description: "POSTLINE_TEST_DATABASE_URL is not set: `make test` starts a PostgreSQL and sets it.")
            }
            return unsafe String(cString: value)
        }
    }

    /// Returns the connection string with some keywords replaced.
    static func url(replacing replacements: [String: String]) throws -> String {
        var values: [String: String] = [:]
        for (keyword, value) in try Conninfo(url, applicationName: "").parameters { values[keyword] = value }
        values["fallback_application_name"] = nil
        values.merge(replacements) { $1 }
        func quoted(_ value: String) -> String {
            "'" + value.reduce(into: "") { $0 += $1 == "'" || $1 == "\\" ? "\\\($1)" : "\($1)" } + "'"
        }
        return values.map { "\($0.key)=\(quoted($0.value))" }.joined(separator: " ")
    }

    static let reactor = Reactor(name: "tests")

    /// Passes a new connection to `body`, which may break it.
    static func withConnection<Value: Sendable>(
        _ options: ConnectionOptions = ConnectionOptions(),
        _ body: (Connection) async throws -> Value
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

    /// Runs a pool while `body` runs.
    static func withPool<Value: Sendable>(
        _ options: PoolOptions, url: String? = nil, _ body: (Pool) async throws -> Value
    ) async throws -> Value {
        let pool = makePool(options, url: try url ?? self.url)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await pool.run() }
            let value = try await body(pool)
            group.cancelAll()
            try await group.waitForAll()
            return value
        }
    }

    /// Returns a pool that does not log the connection losses that tests cause.
    static func makePool(_ options: PoolOptions, url: String) -> Pool {
        var options = options
        options.connection.logger = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
        options.connection.applicationName = "pool tests"
        return Pool(url: url, options: options, on: reactor)
    }

    /// Sends a signal to a backend, which must run on this machine.
    static func signal(_ number: Int32, backend: Int32, _ connection: Connection) async throws {
        let rows = try await connection.execute("select inet_server_addr() is null")
        guard rows[0].text(0, 0) == "t" else {
            throw Missing(
                description: "This test signals backends: it needs a server on a Unix socket of this machine.")
        }
        try #require(kill(backend, number) == 0)
    }

    /// Waits until the pool has all its connections.
    static func waitUntilWhole(_ pool: Pool, _ size: Int) async throws {
        try await eventually("all connections to be open") {
            let counters = await pool.counters
            return counters.idle == size && counters.opening == 0
        }
    }
}

extension PoolOptions {
    /// Returns options with a wait limit that a busy machine does not exceed, for tests of other limits.
    static func patient(size: Int) -> PoolOptions { PoolOptions(size: size, waitLimit: watchdogLimit) }
}

extension Pool {
    /// Returns the first value of the result, or nil if there is no row.
    func value(
        _ sql: String, _ parameters: [String?] = [], deadline: Duration? = watchdogLimit
    ) async throws -> String? {
        let rows = try await run([Call(Statement(sql, sql), parameters)], deadline: deadline)[0]
        return rows.count == 0 ? nil : rows.text(0, 0)
    }
}

extension Connection {
    /// Returns the first value of the result, or nil if there is no row.
    func value(
        _ sql: String, _ parameters: [String?] = [], deadline: Duration? = watchdogLimit
    ) async throws -> String? {
        let rows = try await run([Call(Statement(sql, sql), parameters)], deadline: deadline)[0]
        return rows.count == 0 ? nil : rows.text(0, 0)
    }
}

/// Returns the `PostgresError` that `body` throws, or nil if it succeeds.
func postgresError(_ body: () async throws -> some Sendable) async throws -> PostgresError? {
    do {
        _ = try await body()
        return nil
    } catch let error as PostgresError {
        return error
    }
}
