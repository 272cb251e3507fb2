import BoundedWait
import Logging
import Testing

@testable import Postgres

#if canImport(Darwin)
import Darwin
#elseif canImport(Musl)
import Musl
#else
import Glibc
#endif

/// All tests that use the database, one after another: some of them end its backends.
@Suite(.serialized) enum DatabaseTests {}

/// The PostgreSQL that the tests may do anything to.
enum TestDatabase {
    struct Missing: Error, CustomStringConvertible {
        let description: String
    }

    /// The connection string of a superuser of a cluster of the tests' own.
    static var url: String {
        get throws {
            guard let value = unsafe getenv("POSTLINE_TEST_DATABASE_URL") else {
                throw Missing(
                    description: "POSTLINE_TEST_DATABASE_URL is not set: `make test` starts a PostgreSQL and sets it.")
            }
            return unsafe String(cString: value)
        }
    }

    /// The same with other values for some of libpq's keywords.
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

    /// A connection of its own; `body` may break it.
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

    /// A pool that runs while `body` does, and is closed after it.
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

    /// A pool that tells nobody of the losses that the tests bring about.
    static func makePool(_ options: PoolOptions, url: String) -> Pool {
        var options = options
        options.connection.logger = Logger(label: "tests") { _ in SwiftLogNoOpLogHandler() }
        options.connection.applicationName = "pool tests"
        return Pool(url: url, options: options, on: reactor)
    }

    /// Sends a signal to a backend, which must be a process of this machine.
    static func signal(_ number: Int32, backend: Int32, _ connection: Connection) async throws {
        let rows = try await connection.execute("select inet_server_addr() is null")
        guard rows[0].text(0, 0) == "t" else {
            throw Missing(description: "This test ends processes: it wants a PostgreSQL on a socket of this machine.")
        }
        try #require(kill(backend, number) == 0)
    }

    /// Waits until the pool has all its connections.
    static func waitUntilWhole(_ pool: Pool, _ size: Int) async throws {
        try await eventually("all connections are there") {
            let counters = await pool.counters
            return counters.idle == size && counters.opening == 0
        }
    }
}

extension PoolOptions {
    /// A pool that no busy machine keeps from an answer: for tests whose promise is no bound of the wait.
    static func patient(size: Int) -> PoolOptions { PoolOptions(size: size, waitLimit: watchdogLimit) }
}

extension Pool {
    /// The first value of the only call, or nil where there is no row.
    func value(
        _ sql: String, _ parameters: [String?] = [], deadline: Duration? = watchdogLimit
    ) async throws -> String? {
        let rows = try await run([Call(Statement(sql, sql), parameters)], deadline: deadline)[0]
        return rows.count == 0 ? nil : rows.text(0, 0)
    }
}

extension Connection {
    /// The first value of the only call, or nil where there is no row.
    func value(
        _ sql: String, _ parameters: [String?] = [], deadline: Duration? = watchdogLimit
    ) async throws -> String? {
        let rows = try await run([Call(Statement(sql, sql), parameters)], deadline: deadline)[0]
        return rows.count == 0 ? nil : rows.text(0, 0)
    }
}

/// The error that `body` ends with, where it is PostgreSQL's or ours.
func postgresError(_ body: () async throws -> some Sendable) async throws -> PostgresError? {
    do {
        _ = try await body()
        return nil
    } catch let error as PostgresError {
        return error
    }
}
