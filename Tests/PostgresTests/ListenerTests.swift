import Foundations
import Testing

@testable import Postgres

extension DatabaseTests {
    @Suite struct ListenerTests {
        @Test("reports each notification with its sender, in order")
        func notifications() async throws {
            try await TestDatabase.withConnection { connection in
                let channel = "it's a \"channel\""
                try await self.listen(to: channel) { events in
                    try await events.expectListening()
                    let notify = Statement("notify", "select pg_notify($1, $2)")
                    for number in 0..<100 {
                        _ = try await connection.run([Call(notify, [channel, "\(number)"])])
                        _ = try await connection.run([Call(notify, ["another", "not for us"])])
                    }
                    for number in 0..<100 {
                        let notification = try await events.nextNotification()
                        #expect(notification.payload == "\(number)")
                        #expect(notification.processID == connection.backendProcessID)
                    }
                }
            }
        }

        @Test(
            "row 18: reports the loss of its backend and listens again"
        )
        func termination() async throws {
            try await TestDatabase.withConnection { connection in
                try await self.listen(to: "changes") { events in
                    try await events.expectListening()
                    for round in 0..<3 {
                        let ended = try await connection.value(
                            """
                            select count(pg_terminate_backend(pid, 10000)) from pg_stat_activity
                            where application_name = 'listener tests'
                            """)
                        #expect(ended == "1")
                        try await events.expectLost()
                        try await events.expectListening()
                        _ = try await connection.value("select pg_notify('changes', $1)", ["\(round)"])
                        #expect(try await events.nextNotification().payload == "\(round)")
                    }
                }
            }
        }

        @Test("row 19: replaces a frozen backend, found by keepalive")
        func frozenBackend() async throws {
            try await TestDatabase.withConnection { connection in
                var options = ListenerOptions()
                options.keepaliveInterval = .milliseconds(50)
                options.keepaliveDeadline = .milliseconds(300)
                try await self.listen(to: "changes", options) { events in
                    try await events.expectListening()
                    let frozen = try #require(
                        try await connection.value(
                            "select pid from pg_stat_activity where application_name = 'listener tests'"))
                    let processID = try #require(Int32(frozen))
                    try await TestDatabase.signal(SIGSTOP, backend: processID, connection)
                    try await events.expectLost()
                    try await events.expectListening()
                    _ = kill(processID, SIGCONT)
                    _ = try await connection.value("select pg_notify('changes', 'after')")
                    #expect(try await events.nextNotification().payload == "after")
                }
            }
        }

        @Test("reports 20,000 notifications of one transaction in order")
        func many() async throws {
            try await TestDatabase.withConnection { connection in
                try await self.listen(to: "changes") { events in
                    try await events.expectListening()
                    _ = try await connection.value(
                        "select count(pg_notify('changes', n::text)) from generate_series(1, 20000) as n")
                    for number in 1...20_000 {
                        let payload = try await events.nextNotification().payload
                        if payload != "\(number)" {
                            Issue.record("expected \(number), got \(payload)")
                            return
                        }
                    }
                }
            }
        }

        @Test("reports each failure to connect, and listens once it succeeds")
        func awayAndBack() async throws {
            let directory = try TestDirectory.make()
            let home = try SocketHome(directory)
            defer { home.remove() }
            let url = try TestDatabase.url(replacing: ["host": directory, "port": "5432"])
            try await listen(to: "changes", url: url) { events in
                try await events.expectLost()
                try await events.expectLost()
                try home.appear()
                while true {
                    guard let event = await events.next() else {
                        Issue.record("the listener ended")
                        return
                    }
                    if case .listening = event { return }
                }
            }
        }

        /// Runs a listener while `body` reads its events; it must end with its task.
        private func listen(
            to channel: String, _ options: ListenerOptions = ListenerOptions(), url: String? = nil,
            _ body: (Events) async throws -> Void
        ) async throws {
            var options = options
            options.backoff = Backoff(base: .milliseconds(10), limit: .milliseconds(100))
            options.connection.applicationName = "listener tests"
            let listener = Listener(
                url: try url ?? TestDatabase.url, channels: [channel], options: options, on: TestDatabase.reactor)
            let (stream, sink) = AsyncStream.makeStream(of: ListenerEvent.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    await listener.run { sink.yield($0) }
                }
                try await body(Events(stream.makeAsyncIterator()))
                group.cancelAll()
                try await group.waitForAll()
            }
        }
    }
}

/// Reads a listener's events one by one.
private final class Events {
    private var iterator: AsyncStream<ListenerEvent>.Iterator

    init(_ iterator: AsyncStream<ListenerEvent>.Iterator) { self.iterator = iterator }

    func next() async -> ListenerEvent? { await iterator.next(isolation: #isolation) }

    func expectListening(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let event = await next()
        guard case .listening = event else {
            Issue.record("expected listening, got \(String(describing: event))", sourceLocation: sourceLocation)
            return
        }
    }

    func expectLost(sourceLocation: SourceLocation = #_sourceLocation) async throws {
        let event = await next()
        guard case .lost = event else {
            Issue.record("expected a loss, got \(String(describing: event))", sourceLocation: sourceLocation)
            return
        }
    }

    func nextNotification() async throws -> (processID: Int32, payload: String) {
        guard case .notified(_, let processID, let payload) = await next() else {
            throw TestDatabase.Missing(description: "expected a notification")
        }
        return (processID, payload)
    }
}
