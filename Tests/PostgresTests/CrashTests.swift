import Foundations
import BoundedWait
import Testing

@testable import Postgres

extension DatabaseTests {
    /// Crashes of a private server, since other tests use the server of `make test` at the same time.
    @Suite struct CrashTests {
        @Test("row 16: recovers from a backend killed with -9")
        func killedBackend() async throws {
            try await SecondServer.run { server in
                let options = PoolOptions(size: 3, waitLimit: .seconds(5))
                try await TestDatabase.withPool(options, url: server.url) { pool in
                    try await TestDatabase.waitUntilWhole(pool, 3)
                    let victim = try await Connection.open(server.url, on: TestDatabase.reactor)
                    async let sleep = postgresError { try await pool.value("select pg_sleep(60)") }
                    try await eventually("a busy connection") { await pool.counters.busy == 1 }
                    try #require(kill(victim.backendProcessID, SIGKILL) == 0)
                    let error = try await sleep
                    guard case .connectionLost(sent: true, _) = error else {
                        Issue.record("\(String(describing: error))")
                        return
                    }
                    try await self.expectRecovery(pool)
                    try await TestDatabase.waitUntilWhole(pool, 3)
                    #expect(await pool.counters.lost >= 3)
                }
            }
        }

        @Test(
            "row 17: is unavailable while the server restarts, then recovers")
        func restartedServer() async throws {
            try await SecondServer.run { server in
                let options = PoolOptions(size: 3, waitLimit: .seconds(2))
                try await TestDatabase.withPool(options, url: server.url) { pool in
                    try await TestDatabase.waitUntilWhole(pool, 3)
                    try await server.stop()
                    let clock = ContinuousClock()
                    let duration = try await clock.measure {
                        for _ in 0..<20 {
                            let error = try #require(try await postgresError { try await pool.value("select 1") })
                            #expect(error.isUnavailable || error.isLost, "\(error)")
                        }
                    }
                    #expect(duration < .seconds(60))
                    try await server.start()
                    try await self.expectRecovery(pool)
                    try await TestDatabase.waitUntilWhole(pool, 3)
                }
            }
        }

        private func expectRecovery(_ pool: Pool) async throws {
            try await eventually("a response") {
                guard let error = try await postgresError({ try await pool.value("select 1") }) else { return true }
                #expect(error.isUnavailable || error.isLost, "\(error)")
                return false
            }
        }
    }
}

/// A second PostgreSQL server, created by the server of `make test` in its directory.
///
/// The first server starts it by `copy … to program`, so that tests need neither the programs' path nor their user. It is
/// deleted with the first server's directory.
struct SecondServer {
    let url: String
    private let first: Connection
    private let programs: String
    private let directory: String

    static func run(_ body: (SecondServer) async throws -> Void) async throws {
        try await TestDatabase.withConnection { first in
            let server = try await SecondServer(first)
            do {
                try await server.start()
                try await body(server)
            } catch {
                try? await server.remove()
                throw error
            }
            try await server.remove()
        }
    }

    private init(_ first: Connection) async throws {
        self.first = first
        let rows = try await first.execute(
            """
            select setting, regexp_replace(current_setting('data_directory'), '/[^/]*/?$', '') from pg_config
            where name = 'BINDIR'
            """)
        programs = try #require(rows[0].text(0, 0))
        directory = try #require(rows[0].text(0, 1)) + "/second"
        url = "host=\(directory) user=postgres"
        try await shell(
            "rm -rf '\(directory)' && '\(programs)/initdb' -D '\(directory)' -U postgres -A trust --locale=C --no-sync")
    }

    func start() async throws {
        let settings = "-c listen_addresses= -c unix_socket_directories=\(directory) -c fsync=off"
        try await shell(
            "'\(programs)/pg_ctl' start -w -s -D '\(directory)' -l '\(directory)/log' -o '\(settings)' < /dev/null")
    }

    func stop() async throws {
        try await shell("'\(programs)/pg_ctl' stop -w -s -m immediate -D '\(directory)'")
    }

    private func remove() async throws {
        try? await stop()
        try await shell("rm -rf '\(directory)'")
    }

    private func shell(_ command: String) async throws {
        let text = command.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''")
        try await first.execute(
            "copy (select) to program '\(text) > /dev/null 2>&1'", deadline: watchdogLimit)
    }
}
