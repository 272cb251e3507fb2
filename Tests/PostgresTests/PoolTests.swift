import BoundedWait
import Foundations
import Testing

@testable import Postgres

extension DatabaseTests {
    @Suite struct PoolTests {
        @Test("serves many callers within its size")
        func manyCallers() async throws {
            try await TestDatabase.withPool(.patient(size: 4)) { pool in
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for caller in 0..<64 {
                        group.addTask {
                            for number in 0..<20 {
                                let text = "\(caller).\(number)"
                                let value = try await pool.value("select $1::text", [text])
                                if value != text { return false }
                            }
                            return true
                        }
                    }
                    for try await isOwn in group { #expect(isOwn) }
                }
                let counters = await pool.counters
                #expect((counters.idle, counters.busy, counters.waiting) == (counters.opened, 0, 0))
                // If connecting is slow, the callers may finish before the fourth connection is open.
                #expect((1...4).contains(counters.opened))
                #expect((counters.failed, counters.lost, counters.refused) == (0, 0, 0))
            }
        }

        @Test("isolates the settings of requests from each other")
        func settings() async throws {
            let set = Statement(
                "set", "select set_config('role', $1, true), set_config('request.jwt.claims', $2, true)")
            let get = Statement(
                "get",
                "select current_user, current_setting('role'), nullif(current_setting('request.jwt.claims', true), '')")
            let fail = Statement("fail", "select 1 / $1::int")
            let role = "pool_tests_\(UInt32.random(in: 0 ... .max))"
            try await TestDatabase.withPool(.patient(size: 1)) { pool in
                let owner = try await pool.value("select current_user")
                _ = try await pool.run([Call(Statement("create", "create role \(role)"))])
                try await withThrowingTaskGroup(of: Void.self) { group in
                    for number in 0..<100 {
                        group.addTask {
                            let claims = #"{"sub":"\#(number)"}"#
                            if number % 3 == 0 {
                                let error = try await postgresError {
                                    try await pool.run([Call(set, [role, claims]), Call(fail, ["0"])])
                                }
                                #expect(error?.serverError?.sqlState.rawValue == "22012")
                            } else {
                                let rows = try await pool.run([Call(set, [role, claims]), Call(get)])
                                #expect((0..<3).map { rows[1].text(0, $0) } == [role, role, claims])
                            }
                            let rows = try await pool.run([Call(get)])
                            #expect((0..<3).map { rows[0].text(0, $0) } == [owner, "none", nil])
                        }
                    }
                    try await group.waitForAll()
                }
                _ = try await pool.run([Call(Statement("drop", "drop role \(role)"))])
                #expect(await pool.counters.opened == 1)
            }
        }

        @Test("ends a wait for a connection with unavailable")
        func boundedWait() async throws {
            try await TestDatabase.withConnection { holder in
                try await TestDatabase.withPool(PoolOptions(size: 1, waitLimit: .milliseconds(200))) { pool in
                    // On a busy machine connecting may take longer than the limit.
                    try await eventually("a connection") { (try? await pool.value("select 1")) == "1" }
                    let run = try await self.occupy(pool, holder)
                    let clock = ContinuousClock()
                    let duration = try await clock.measure {
                        let error = try await postgresError { try await pool.value("select 1") }
                        #expect(error?.isUnavailable == true, "\(String(describing: error))")
                    }
                    #expect(duration >= .milliseconds(200) && duration < .seconds(60))
                    #expect(await pool.counters.waiting == 0)
                    try await self.release(run, holder)
                    #expect(try await pool.value("select 1") == "1")
                }
            }
        }

        @Test("queues requests before it runs, within their limit")
        func notRunning() async throws {
            let options = PoolOptions(size: 1, waitLimit: .milliseconds(100))
            let pool = TestDatabase.makePool(options, url: try TestDatabase.url)
            let error = try await postgresError { try await pool.value("select 1") }
            #expect(error?.isUnavailable == true)
        }

        @Test("removes a cancelled request from the queue at once")
        func cancelledWaiter() async throws {
            try await TestDatabase.withConnection { holder in
                try await TestDatabase.withPool(.patient(size: 1)) { pool in
                    let run = try await self.occupy(pool, holder)
                    let first = Task { try await pool.value("select 'first'") }
                    try await eventually("one waiting request") { await pool.counters.waiting == 1 }
                    let second = Task { try await pool.value("select 'second'") }
                    try await eventually("two waiting requests") { await pool.counters.waiting == 2 }
                    first.cancel()
                    let error = try await postgresError { try await first.value }
                    guard case .cancelled = error else {
                        Issue.record("\(String(describing: error))")
                        return
                    }
                    #expect(await pool.counters.waiting == 1)
                    try await self.release(run, holder)
                    #expect(try await second.value == "second")
                    #expect(await pool.counters.opened == 1)
                }
            }
        }

        @Test("replaces the connection of a request past its deadline")
        func deadline() async throws {
            try await TestDatabase.withPool(.patient(size: 1)) { pool in
                let before = try await pool.value("select pg_backend_pid()")
                let error = try await postgresError {
                    try await pool.value("select pg_sleep(60)", deadline: .milliseconds(100))
                }
                guard case .deadlineExceeded = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                let after = try await pool.value("select pg_backend_pid()")
                #expect(before != after)
                #expect(await pool.counters.opened == 2)
            }
        }

        @Test("row 25: keeps the connection after a statement timeout")
        func statementTimeout() async throws {
            let set = Statement("set", "select set_config('statement_timeout', $1, true)")
            try await TestDatabase.withPool(.patient(size: 1)) { pool in
                let error = try await postgresError {
                    try await pool.run([Call(set, ["50"]), Call(Statement("sleep", "select pg_sleep(60)"))])
                }
                #expect(error?.serverError?.sqlState == .queryCanceled)
                #expect(try await pool.value("select 1") == "1")
                #expect(await pool.counters.opened == 1)
            }
        }

        @Test(
            "row 25: replaces a connection with an open transaction")
        func openTransaction() async throws {
            try await TestDatabase.withPool(.patient(size: 1)) { pool in
                let before = try await pool.value("select pg_backend_pid()")
                _ = try await pool.run([Call(Statement("begin", "begin"))])
                #expect(try await pool.value("select pg_backend_pid()") != before)
            }
        }

        @Test("row 22: retries serialization failures and deadlocks")
        func retries() async throws {
            let name = "retries_\(UInt32.random(in: 0 ... .max))"
            try await TestDatabase.withConnection { connection in
                try await connection.execute(
                    """
                    create sequence \(name);
                    create function \(name)(state text, failures int) returns bigint language plpgsql as $$
                    declare number bigint := nextval('\(name)');
                    begin
                        if number <= failures then raise exception using errcode = state; end if;
                        return number;
                    end $$;
                    """)
                try await TestDatabase.withPool(.patient(size: 1)) { pool in
                    for state in [SQLState.serializationFailure, .deadlockDetected] {
                        let number = try await pool.value("select \(name)($1, 2)", [state.rawValue])
                        #expect(number == "3")
                        try await connection.execute("alter sequence \(name) restart")
                    }
                    #expect(await pool.counters.retried == 4)
                    let error = try await postgresError {
                        try await pool.value("select \(name)($1, 1000)", [SQLState.serializationFailure.rawValue])
                    }
                    #expect(error?.serverError?.sqlState == .serializationFailure)
                    #expect(try await connection.value("select last_value from \(name)") == "4")
                    let other = try await postgresError { try await pool.value("select \(name)('PL001', 1000)") }
                    #expect(other?.serverError?.sqlState.rawValue == "PL001")
                    #expect(try await connection.value("select last_value from \(name)") == "5")
                }
                try await connection.execute("drop function \(name); drop sequence \(name)")
            }
        }

        @Test("re-prepares a statement whose result type has changed")
        func stalePlan() async throws {
            let name = "stale_\(UInt32.random(in: 0 ... .max))"
            try await TestDatabase.withConnection { connection in
                try await connection.execute("create table \(name) as select 1 as a")
                try await TestDatabase.withPool(.patient(size: 1)) { pool in
                    #expect(try await pool.value("select * from \(name)") == "1")
                    try await connection.execute("alter table \(name) alter column a type text")
                    #expect(try await pool.value("select * from \(name)") == "1")
                    #expect(await pool.counters.opened == 2)
                    _ = try await pool.run([Call(Statement("forget", "deallocate all"))])
                    #expect(try await pool.value("select * from \(name)") == "1")
                }
                try await connection.execute("drop table \(name)")
            }
        }

        @Test("replaces backends terminated while idle")
        func terminatedIdle() async throws {
            try await TestDatabase.withConnection { observer in
                try await TestDatabase.withPool(.patient(size: 3)) { pool in
                    try await TestDatabase.waitUntilWhole(pool, 3)
                    for round in 1...3 {
                        _ = try await observer.value(
                            """
                            select count(pg_terminate_backend(pid, 10000)) from pg_stat_activity
                            where application_name = 'pool tests'
                            """)
                        #expect(try await pool.value("select 1") == "1")
                        try await TestDatabase.waitUntilWhole(pool, 3)
                        #expect(await pool.counters.opened == 3 * (round + 1))
                    }
                    #expect(await pool.counters.refused == 0)
                }
            }
        }

        @Test("loses only the request of a terminated backend")
        func terminatedAtWork() async throws {
            try await TestDatabase.withConnection { holder in
                try await TestDatabase.withPool(.patient(size: 2)) { pool in
                    let run = try await self.occupy(pool, holder)
                    let processID = try #require(
                        try await holder.value("select pid from pg_locks where objid = \(Self.lock) and not granted"))
                    #expect(try await pool.value("select 1") == "1")
                    #expect(try await holder.value("select pg_terminate_backend($1::int, 10000)", [processID]) == "t")
                    let error = try await postgresError { try await run.value }
                    guard case .connectionLost(sent: true, _) = error else {
                        Issue.record("\(String(describing: error))")
                        return
                    }
                    #expect(try await pool.value("select 1") == "1")
                    _ = try await holder.execute("select pg_advisory_unlock_all()")
                    try await TestDatabase.waitUntilWhole(pool, 2)
                }
            }
        }

        @Test("rejects requests without a server, and recovers with it")
        func awayAndBack() async throws {
            let directory = try TestDirectory.make()
            let home = try SocketHome(directory)
            defer { home.remove() }
            var options = PoolOptions(size: 2, waitLimit: .seconds(5))
            options.backoff = Backoff(base: .milliseconds(10), limit: .milliseconds(100))
            let url = try TestDatabase.url(replacing: ["host": directory, "port": "5432"])
            try await TestDatabase.withPool(options, url: url) { pool in
                for _ in 0..<2 {
                    let clock = ContinuousClock()
                    let duration = try await clock.measure {
                        for _ in 0..<20 {
                            let error = try await postgresError { try await pool.value("select 1") }
                            #expect(error?.isUnavailable == true, "\(String(describing: error))")
                        }
                    }
                    #expect(duration < .seconds(60))
                    try home.appear()
                    try await eventually("a response") {
                        try await postgresError { try await pool.value("select 1") } == nil
                    }
                    try await TestDatabase.waitUntilWhole(pool, 2)
                    // The server disappears again, also for open connections.
                    home.disappear()
                    let failures = await pool.counters.failed
                    try await TestDatabase.withConnection { observer in
                        _ = try await observer.value(
                            """
                            select count(pg_terminate_backend(pid, 10000)) from pg_stat_activity
                            where application_name = 'pool tests'
                            """)
                    }
                    try await eventually("the pool to notice") { await pool.counters.failed > failures }
                }
            }
        }

        @Test("ends requests in time if the server accepts without responding")
        func silentServer() async throws {
            let server = try SilentServer()
            var options = PoolOptions(size: 2, waitLimit: .milliseconds(200))
            options.connection.connectTimeout = .milliseconds(500)
            try await TestDatabase.withPool(options, url: "host=\(server.directory)") { pool in
                let clock = ContinuousClock()
                let first = try await clock.measure {
                    let error = try await postgresError { try await pool.value("select 1") }
                    #expect(error?.isUnavailable == true)
                }
                #expect(first < .seconds(60))
                try await eventually("the first attempt has failed") { await pool.counters.failed > 0 }
                let later = try await clock.measure {
                    for _ in 0..<100 {
                        let error = try await postgresError { try await pool.value("select 1") }
                        #expect(error?.isUnavailable == true)
                    }
                }
                #expect(later < .seconds(60))
            }
        }

        @Test("row 55: stops during its start without leaking connections")
        func endedWhileStarting() async throws {
            let url = try TestDatabase.url(replacing: ["application_name": "pool ends early"])
            // Connects first, since the attempts may fill the server's backlog.
            try await TestDatabase.withConnection { observer in
                for round in 0..<200 {
                    let pool = TestDatabase.makePool(.patient(size: 8), url: url)
                    let life = Task { await pool.run() }
                    // The delays range from before the first attempt until all attempts have ended.
                    try await Task.sleep(for: .microseconds(round * 100))
                    life.cancel()
                    await life.value
                    let counters = await pool.counters
                    #expect((counters.idle, counters.busy, counters.opening) == (0, 0, 0))
                }
                try await eventually("their backends to end") {
                    try await observer.value(
                        "select count(*) from pg_stat_activity where application_name = 'pool ends early'") == "0"
                }
            }
        }

        @Test("stops after its running requests without leaking connections")
        func gracefulClose() async throws {
            try await TestDatabase.withConnection { holder in
                let pool = TestDatabase.makePool(.patient(size: 2), url: try TestDatabase.url)
                let life = Task { await pool.run() }
                let run = try await self.occupy(pool, holder)
                life.cancel()
                try await eventually("the pool closes") {
                    try await postgresError { try await pool.value("select 1") }?.isUnavailable == true
                }
                try await self.release(run, holder)
                await life.value
                let counters = await pool.counters
                #expect((counters.idle, counters.busy, counters.opening) == (0, 0, 0))
            }
        }

        /// The key of an advisory lock that no other test uses.
        private static let lock = 1_886_351_212

        /// Occupies one connection of the pool until `release`: its request waits for a lock of `holder`.
        private func occupy(_ pool: Pool, _ holder: Connection) async throws -> Task<String?, any Error> {
            _ = try await holder.execute("select pg_advisory_lock(\(Self.lock))")
            let run = Task { try await pool.value("select pg_advisory_xact_lock(\(Self.lock))::text") }
            try await eventually("a run waits for the lock") {
                try await holder.value(
                    "select count(*) from pg_locks where objid = \(Self.lock) and not granted") == "1"
            }
            return run
        }

        private func release(_ run: Task<String?, any Error>, _ holder: Connection) async throws {
            _ = try await holder.execute("select pg_advisory_unlock(\(Self.lock))")
            #expect(try await run.value == "")
        }
    }
}

extension PostgresError {
    var isUnavailable: Bool { if case .unavailable = self { true } else { false } }
    var isLost: Bool { if case .connectionLost = self { true } else { false } }
}

/// A directory in which the socket of the tests' PostgreSQL appears and disappears.
struct SocketHome {
    private let directory: String
    private let target: String

    private var link: String { "\(directory)/.s.PGSQL.5432" }

    init(_ directory: String) throws {
        self.directory = directory
        let parameters = try Conninfo(TestDatabase.url, applicationName: "tests").parameters
        let host = parameters.first { $0.keyword == "host" }?.value ?? ""
        let port = parameters.first { $0.keyword == "port" }?.value ?? "5432"
        guard host.hasPrefix("/") else {
            throw TestDatabase.Missing(description: "This test wants a PostgreSQL on a socket of this machine.")
        }
        target = "\(host)/.s.PGSQL.\(port)"
    }

    func appear() throws { try #require(unsafe symlink(target, link) == 0) }

    func disappear() { _ = unsafe unlink(link) }

    func remove() { TestDirectory.remove(directory, ".s.PGSQL.5432") }
}
