import BoundedWait
import Logging
import Synchronization
import TestSupport
import Testing

@testable import Postgres

extension DatabaseTests {
    @Suite struct ConnectionTests {
        @Test("returns values unchanged: null, empty, quotes, all of Unicode", .covers("F1"))
        func values() async throws {
            try await TestDatabase.withConnection { connection in
                let texts = ["", "'; drop table x; --", "\\\"$1", "é 漢 🏳️‍🌈 \u{10FFFF}", "line\nbreak\ttab"]
                let statement = Statement("echo", "select $1::text, $2::text")
                let rows = try await connection.run(texts.map { Call(statement, [$0, nil]) })
                #expect(rows.map { $0.text(0, 0) } == texts)
                #expect(rows.allSatisfy { $0.text(0, 1) == nil })
                #expect(rows[0].count == 1 && rows[0].columnCount == 2 && rows[0].columnName(0) == "text")
                #expect(rows[0].columnName(2) == nil)
                let length = rows[3].withBytes(0, 0) { $0?.byteCount }
                #expect(length == texts[3].utf8.count)
                let isNull = rows[3].withBytes(0, 1) { $0 == nil }
                #expect(isNull)
            }
        }

        @Test("rejects a NUL character in a parameter before sending")
        func nulInParameter() async throws {
            try await TestDatabase.withConnection { connection in
                _ = try await connection.execute("create temp table sent (text text)")
                let insert = Statement("insert", "insert into sent values ($1)")
                let error = try await postgresError {
                    try await connection.run([Call(insert, ["fine"]), Call(insert, ["a\0b"])])
                }
                guard case .refused(let reason) = error else {
                    Issue.record("not refused: \(String(describing: error))")
                    return
                }
                #expect(reason.contains("$1") && reason.contains("NUL"))
                let script = try await postgresError { try await connection.execute("select 1;\0") }
                #expect(script?.isRefused == true)
                #expect(try await connection.value("select count(*) from sent") == "0")
            }
        }

        @Test("reports a deferred constraint that fails after rows")
        func deferredConstraint() async throws {
            try await TestDatabase.withConnection { connection in
                try await connection.execute(
                    "create temp table deferred (id int constraint deferred_key unique deferrable initially deferred)")
                let insert = Statement("insert", "insert into deferred values ($1) returning id")
                let error = try await postgresError {
                    try await connection.run([Call(insert, ["1"]), Call(insert, ["1"])])
                }
                #expect(error?.serverError?.sqlState == .uniqueViolation, "\(String(describing: error))")
                #expect(error?.serverError?.constraint == "deferred_key")
                #expect(try await connection.value("select count(*) from deferred") == "0")
                #expect(await connection.isReusable)
            }
        }

        @Test("rolls back a failed request and keeps the connection")
        func errorInPipeline() async throws {
            try await TestDatabase.withConnection { connection in
                try await connection.execute("create temp table kept (id int)")
                let insert = Statement("insert", "insert into kept values ($1)")
                let error = try await postgresError {
                    try await connection.run([
                        Call(insert, ["1"]), Call(Statement("divide", "select 1 / $1::int"), ["0"]),
                        Call(insert, ["2"]),
                    ])
                }
                #expect(error?.serverError?.sqlState.rawValue == "22012")
                #expect(await connection.isReusable)
                #expect(try await connection.value("select count(*) from kept") == "0")
            }
        }

        @Test("prepares a statement once, and again after a failed PREPARE")
        func preparation() async throws {
            try await TestDatabase.withConnection { connection in
                let first = Statement("first", "select 1")
                let divide = Statement("divide", "select 1 / $1::int")
                let last = Statement("last", "select 2")
                let prepared = "select string_agg(name, ' ' order by name) from pg_prepared_statements"
                _ = try await postgresError {
                    try await connection.run([Call(first), Call(divide, ["0"]), Call(last), Call(last)])
                }
                #expect(try await connection.execute(prepared)[0].text(0, 0) == "divide first")
                let rows = try await connection.run([Call(first), Call(divide, ["1"]), Call(last), Call(last)])
                #expect(rows.map { $0.text(0, 0) } == ["1", "1", "2", "2"])
                #expect(try await connection.execute(prepared)[0].text(0, 0) == "divide first last")
            }
        }

        @Test("fails on each use of a statement that does not parse")
        func syntaxError() async throws {
            try await TestDatabase.withConnection { connection in
                let wrong = Statement("wrong", "selec 1")
                for _ in 0..<2 {
                    let error = try await postgresError { try await connection.run([Call(wrong)]) }
                    #expect(error?.serverError?.sqlState.rawValue == "42601")
                    #expect(error?.serverError?.position == 1)
                }
            }
        }

        @Test("rejects two statements with the same name")
        func nameClash() async throws {
            try await TestDatabase.withConnection { connection in
                _ = try await connection.run([Call(Statement("name", "select 1"))])
                let error = try await postgresError { try await connection.run([Call(Statement("name", "select 2"))]) }
                #expect(error?.isRefused == true)
            }
        }

        @Test("prepares nothing if preparing is off")
        func unprepared() async throws {
            var options = ConnectionOptions()
            options.preparesStatements = false
            try await TestDatabase.withConnection(options) { connection async throws in
                #expect(try await connection.value("select $1::text", ["a"]) == "a")
                #expect(try await connection.value("select count(*) from pg_prepared_statements") == "0")
            }
        }

        @Test("runs the calls of a request in one transaction")
        func oneTransaction() async throws {
            try await TestDatabase.withConnection { connection in
                let xid = Statement("xid", "select pg_current_xact_id()")
                let rows = try await connection.run([Call(xid), Call(xid)])
                #expect(rows[0].text(0, 0) == rows[1].text(0, 0))
                let next = try await connection.run([Call(xid)])
                #expect(next[0].text(0, 0) != rows[0].text(0, 0))
            }
        }

        @Test("returns all fields of a server error")
        func errorFields() async throws {
            try await TestDatabase.withConnection { connection in
                try await connection.execute("create temp table fields (id int not null)")
                let missing = try await postgresError { try await connection.execute("select 1;\nselect nothing_such") }
                #expect(missing?.serverError?.position == 18)
                let null = try await postgresError { try await connection.execute("insert into fields values (null)") }
                #expect(null?.serverError?.sqlState.rawValue == "23502")
                #expect(null?.serverError?.table == "fields")
                #expect(null?.serverError?.column == "id")
                let raised = try await postgresError {
                    try await connection.execute(
                        "do $$ begin raise sqlstate 'PL009' using message = 'm', detail = 'd', hint = 'h'; end $$")
                }
                let error = try #require(raised?.serverError)
                #expect(error.sqlState.rawValue == "PL009")
                #expect((error.message, error.detail, error.hint) == ("m", "d", "h"))
                #expect(error.description == "ERROR PL009: m Hint: h")
            }
        }

        @Test("runs a script as one transaction with the rows of each statement")
        func script() async throws {
            try await TestDatabase.withConnection { connection in
                #expect(try await connection.value("select 1") == "1")
                let rows = try await connection.execute(
                    "select 'a'; create temp table s (id int); select 'b' where false;")
                #expect(rows.map(\.count) == [1, 0, 0])
                _ = try await postgresError { try await connection.execute("insert into s values (1); select 1 / 0") }
                #expect(try await connection.value("select count(*) from s") == "0")
                let nothing = try await connection.execute("")
                #expect(nothing.map(\.count) == [0])
            }
        }

        @Test("fails on COPY and closes the connection")
        func copy() async throws {
            try await TestDatabase.withConnection { connection in
                let error = try await postgresError { try await connection.execute("copy (select 1) to stdout") }
                #expect(error != nil)
                #expect(await connection.isClosed)
            }
        }

        @Test("transfers 8 MB in both directions at once")
        func large() async throws {
            try await TestDatabase.withConnection { connection in
                let large = String(repeating: "0123456789abcdeé", count: 8 << 16)
                #expect(try await connection.value("select $1::text", [large]) == large)
                let statement = Statement("twice", "select $1::text || $1::text")
                let part = String(repeating: "x", count: 1 << 20)
                let rows = try await connection.run(Array(repeating: Call(statement, [part]), count: 24))
                #expect(rows.count == 24)
                let sizes = rows.map { rows in rows.withBytes(0, 0) { $0?.byteCount } }
                #expect(sizes.allSatisfy { $0 == 2 << 20 })
                #expect(try await connection.value("select 1") == "1")
            }
        }

        @Test("rejects more than 65535 parameters")
        func parameterCount() async throws {
            try await TestDatabase.withConnection { connection in
                let many = Call(Statement("many", "select 1"), Array(repeating: "1", count: 65_536))
                let error = try await postgresError { try await connection.run([many]) }
                #expect(error?.isRefused == true)
                let sum = "select " + (1...1_000).map { "$\($0)::int" }.joined(separator: " + ")
                #expect(try await connection.value(sum, Array(repeating: "1", count: 1_000)) == "1000")
            }
        }

        @Test("serves many callers in order on one connection")
        func turns() async throws {
            try await TestDatabase.withConnection { connection in
                try await withThrowingTaskGroup(of: Bool.self) { group in
                    for number in 0..<200 {
                        group.addTask {
                            try await connection.value("select $1::text", ["\(number)"]) == "\(number)"
                        }
                    }
                    for try await isOwn in group { #expect(isOwn) }
                }
            }
        }

        @Test("cancels a request on the server after its deadline")
        func deadline() async throws {
            try await TestDatabase.withConnection { observer in
                try await TestDatabase.withConnection { connection in
                    let clock = ContinuousClock()
                    let duration = try await clock.measure {
                        let error = try await postgresError {
                            try await connection.value("select pg_sleep(60)", deadline: .milliseconds(200))
                        }
                        guard case .deadlineExceeded = error else {
                            Issue.record("\(String(describing: error))")
                            return
                        }
                    }
                    #expect(duration >= .milliseconds(200) && duration < .seconds(60))
                    #expect(await connection.isClosed)
                    try await expectGone(connection.backendProcessID, observer)
                    let next = try await postgresError { try await connection.value("select 1") }
                    guard case .connectionLost(sent: false, _) = next else {
                        Issue.record("\(String(describing: next))")
                        return
                    }
                }
            }
        }

        @Test("ends only the request whose deadline passes while queued")
        func deadlineInQueue() async throws {
            try await TestDatabase.withConnection { holder in
                try await TestDatabase.withConnection { connection in
                    try await holder.execute("select pg_advisory_lock(1886351213)")
                    async let first = connection.value("select pg_advisory_xact_lock(1886351213)::text")
                    try await eventually("the first run waits for the lock") {
                        try await holder.value(
                            "select count(*) from pg_stat_activity where pid = $1::int and wait_event_type = 'Lock'",
                            ["\(connection.backendProcessID)"]) == "1"
                    }
                    let error = try await postgresError {
                        try await connection.value("select 1", deadline: .milliseconds(100))
                    }
                    guard case .deadlineExceeded = error else {
                        Issue.record("\(String(describing: error))")
                        return
                    }
                    try await holder.execute("select pg_advisory_unlock(1886351213)")
                    #expect(try await first == "")
                    #expect(try await connection.value("select 1") == "1")
                }
            }
        }

        @Test("cancels the statement of a cancelled task on the server")
        func cancellation() async throws {
            try await TestDatabase.withConnection { observer in
                try await TestDatabase.withConnection { connection in
                    let task = Task { try await connection.value("select pg_sleep(60)") }
                    try await eventually("the statement runs") {
                        try await observer.value(
                            "select count(*) from pg_stat_activity where pid = $1::int and wait_event = 'PgSleep'",
                            ["\(connection.backendProcessID)"]) == "1"
                    }
                    task.cancel()
                    let error = try await postgresError { try await task.value }
                    guard case .cancelled = error else {
                        Issue.record("\(String(describing: error))")
                        return
                    }
                    #expect(await connection.isClosed)
                    try await expectGone(connection.backendProcessID, observer)
                }
            }
        }

        @Test("sends nothing for a task that is already cancelled")
        func cancelledBefore() async throws {
            try await TestDatabase.withConnection { connection in
                let task = Task {
                    unsafe withUnsafeCurrentTask { unsafe $0?.cancel() }
                    return try await connection.value("select 1")
                }
                let error = try await postgresError { try await task.value }
                guard case .cancelled = error else {
                    Issue.record("\(String(describing: error))")
                    return
                }
                #expect(try await connection.value("select 1") == "1")
            }
        }

        @Test("reports a terminated backend in the server's words")
        func terminatedInRun() async throws {
            try await TestDatabase.withConnection { observer in
                try await TestDatabase.withConnection { connection in
                    async let lost = postgresError { try await connection.value("select pg_sleep(60)") }
                    try await eventually("the backend is terminated in its sleep") {
                        try await observer.value(
                            """
                            select pg_terminate_backend(pid) from pg_stat_activity
                            where pid = $1::int and wait_event = 'PgSleep'
                            """,
                            ["\(connection.backendProcessID)"]) == "t"
                    }
                    guard case .connectionLost(sent: true, let reason) = try await lost else {
                        Issue.record("\(String(describing: try await lost))")
                        return
                    }
                    #expect(reason.contains("57P01"))
                    #expect(await connection.isClosed)
                }
            }
        }

        @Test("sends nothing over a closed connection")
        func lostWhileIdle() async throws {
            try await TestDatabase.withConnection { observer in
                try await TestDatabase.withConnection { connection in
                    #expect(
                        try await observer.value(
                            "select pg_terminate_backend($1::int, 10000)", ["\(connection.backendProcessID)"]) == "t")
                    let error = try await postgresError { try await connection.value("select 1") }
                    guard case .connectionLost(sent: false, _) = error else {
                        Issue.record("\(String(describing: error))")
                        return
                    }
                }
            }
        }

        @Test("ends a released connection on the server")
        func dropped() async throws {
            try await TestDatabase.withConnection { observer in
                let processID = try await {
                    let connection = try await Connection.open(TestDatabase.url, on: TestDatabase.reactor)
                    #expect(try await connection.value("select 1") == "1")
                    return connection.backendProcessID
                }()
                try await expectGone(processID, observer)
            }
        }

        @Test("drains a reactor that is released with its last user")
        func droppedReactor() async throws {
            try await TestDatabase.withConnection { observer in
                let processID = try await {
                    let connection = try await Connection.open(TestDatabase.url, on: Reactor(name: "short"))
                    #expect(try await connection.value("select 1") == "1")
                    return connection.backendProcessID
                }()
                try await expectGone(processID, observer)
            }
        }

        @Test("sets the application name and UTF-8", .covers("F1"))
        func session() async throws {
            try await TestDatabase.withConnection { connection async throws in
                #expect(try await connection.value("show application_name") == "postline")
                #expect(try await connection.value("show client_encoding") == "UTF8")
                #expect(try await connection.value("select pg_backend_pid()") == "\(connection.backendProcessID)")
                #expect(try await connection.value("show server_version_num") == "\(connection.serverVersion)")
            }
        }

        @Test("logs a notice of the server at debug level")
        func notices() async throws {
            let log = CapturingLog()
            var options = ConnectionOptions()
            options.logger = Logger(label: "test") { _ in log }
            options.logger.logLevel = .debug
            try await TestDatabase.withConnection(options) { connection in
                _ = try await connection.execute("do $$ begin raise notice 'hear, hear'; end $$")
            }
            #expect(log.messages.withLock { $0 }.contains { $0.contains("hear, hear") })
        }

        @Test("distinguishes a missing database, role and server")
        func connectFailures() async throws {
            let url = try TestDatabase.url(replacing: ["dbname": "nothing_such"])
            let reactor = TestDatabase.reactor
            let database = try await postgresError { try await Connection.open(url, on: reactor) }
            guard case .connectFailed(let reason) = database else {
                Issue.record("\(String(describing: database))")
                return
            }
            #expect(reason.contains("nothing_such"))
            let server = try await postgresError { try await Connection.open("host=/nonexistent", on: reactor) }
            guard case .connectFailed = server else {
                Issue.record("\(String(describing: server))")
                return
            }
        }

        private func expectGone(_ processID: Int32, _ observer: Connection) async throws {
            try await eventually("backend \(processID) to end") {
                try await observer.value(
                    "select count(*) from pg_stat_activity where pid = $1::int", ["\(processID)"]) == "0"
            }
        }
    }
}

extension PostgresError {
    var isRefused: Bool { if case .refused = self { true } else { false } }
}

/// A log handler that records messages.
private final class CapturingLog: LogHandler, Sendable {
    let messages = Mutex<[String]>([])
    private let level = Mutex(Logger.Level.debug)

    var metadata: Logger.Metadata {
        get { [:] }
        set {}
    }
    var logLevel: Logger.Level {
        get { level.withLock { $0 } }
        set { level.withLock { $0 = newValue } }
    }
    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { nil }
        set {}
    }

    func log(event: LogEvent) { messages.withLock { $0.append("\(event.message) \(event.metadata ?? [:])") } }
}
