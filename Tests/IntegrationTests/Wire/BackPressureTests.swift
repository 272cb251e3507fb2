import LineClient
import Metering
import Postgres
import Testing
@testable import WireProtocol

@Suite("Back-pressure", .timeLimit(.minutes(20)))
struct BackPressureTests {
    /// Writes large messages by SQL, like another program. Each poll finds many.
    private static func flood(_ database: TestDatabase, _ round: Int, count: Int) async throws {
        try await database.psql(
            """
            insert into public.messages (conversation_id, sender_id, content)
            select '\(Room.aliceBob)', '\(Person.bob.id)', '\(round) ' || n || repeat(' 🌊', 3900)
            from generate_series(1, \(count)) as n
            """)
    }

    /// Returns the received seqs of the flood after the client has fetched those that the delta left out.
    private static func pagedBack(_ client: TestClient, to last: Int) async throws -> [Int] {
        let state = await client.state
        var held = Set((state.messages[Room.aliceBob] ?? [:]).keys)
        var next = last
        while next > 90 {
            if held.contains(next) {
                next -= 1
                continue
            }
            #expect(state.limited.contains(Room.aliceBob))
            let page = try await client.call(
                "messages.list",
                ["conversation_id": .string(Room.aliceBob), "before_seq": .integer(next + 1), "limit": 200])
            let seqs = page["messages"]?.arrayValue?.compactMap { $0["seq"]?.integerValue } ?? []
            guard seqs.last == next else { break }
            held.formUnion(seqs)
        }
        return held.filter { $0 > 90 }.sorted()
    }

    @Test(
        "row 12: a slow consumer gets sync.lagged, then equals the database"
    )
    func slowConsumer() async throws {
        let bound = 300_000
        try await withNode(NodeSettings(maxQueueBytes: bound, slowConsumerSeconds: 600)) { node in
            let slow = try await node.signedIn(.alice)
            let quick = try await node.signedIn(.bob)
            for client in [slow, quick] { try await client.sync(messages: 100) }
            try await slow.line.setReading(false)
            // About 20 kB each, 15 MB in all: more than the kernel buffers for an unread socket.
            let (rounds, each) = (150, 5)
            var waiting = 0.0
            for round in 0..<rounds {
                try await Self.flood(node.database, round, count: each)
                let last = 90 + (round + 1) * each
                try await quick.follow("message \(last)") { $0.messages[Room.aliceBob]?[last] != nil }
                waiting = max(waiting, node.metrics.value("postline_outbound_queue_bytes") ?? 0)
            }
            #expect(await quick.state.arrivals[Room.aliceBob]?.filter { $0 > 90 } == Array(91...(90 + rounds * each)))
            #expect(node.metrics.value("postline_slow_consumer_drops_total") == 1)
            // The queues of both clients. The fast one's is usually empty.
            #expect(waiting <= Double(2 * bound))

            let start = await slow.received.count
            try await slow.line.setReading(true)
            var lagged: ServerNotification?
            while lagged == nil {
                let push = try await slow.nextNotification()
                if push.method == "sync.lagged" { lagged = push } else { await slow.take(.object(try push.params())) }
            }
            let cursor = try lagged?.params()["cursor"]?.stringValue
            #expect(cursor == (await slow.cursor))
            // Nothing is pushed until it syncs again.
            let received = await slow.received.count
            #expect(received > start)
            try await slow.call("me.get")
            try await slow.sync(from: cursor, messages: 100)
            #expect(await slow.received[received]["reset"] == false)
            try await SyncOpenTests.expectEqual(slow, node.database, newest: 100)
            try await SyncOpenTests.expectEqual(quick, node.database, newest: 100)
            // A delta has the newest hundred and says so. The rest is fetched by page.
            let last = 90 + rounds * each
            #expect(try await Self.pagedBack(slow, to: last) == Array(91...last))
            try await quick.send("live again", to: Room.aliceBob)
            try await slow.follow { $0.has("live again", in: Room.aliceBob) }
        }
    }

    @Test("row 14: pauses reading from a client that does not read")
    func pipelining() async throws {
        try await withNode(NodeSettings(slowConsumerSeconds: 600)) { node in
            let client = try await node.signedIn(.alice)
            let other = try await node.signedIn(.bob)
            try await Self.flood(node.database, 0, count: 10)
            try await client.line.setReading(false)
            // About 200 kB each, 20 MB in all, of which the node must not build more than it can send.
            let count = 100
            let ask =
                #""method":"messages.list","params":{"conversation_id":"\#(Room.aliceBob)","limit":10}}"#
            for number in 0..<count {
                try await client.line.send(line: #"{"jsonrpc":"2.0","id":"\#(number)",\#(ask)"#)
            }
            var (done, before) = (0.0, 0.0)
            let series = #"postline_request_duration_seconds_count{code="ok",method="messages.list"}"#
            repeat {
                before = done
                for _ in 0..<50 { try await other.call("me.get") }
                done = node.metrics.value(series) ?? 0
            } while done == 0 || done != before
            // About as many are answered as the kernel buffers.
            #expect(1..<60 ~= done)
            #expect((node.metrics.value("postline_outbound_queue_bytes") ?? 0) < 4_000_000)
            try await client.line.setReading(true)
            for number in 0..<count {
                #expect(try await client.nextLine().hasPrefix(#"{"jsonrpc":"2.0","id":"\#(number)","result":"#))
            }
        }
    }

    // A9
    @Test("closes the largest queues over the total limit first")
    func unreadAnswers() async throws {
        let bound = 1_048_576
        try await withNode(NodeSettings(maxUnwrittenBytes: bound, slowConsumerSeconds: 600)) { node in
            let other = try await node.signedIn(.bob)
            try await Self.flood(node.database, 0, count: 10)
            let ask =
                #""method":"messages.list","params":{"conversation_id":"\#(Room.aliceBob)","limit":10}}"#
            var clients: [TestClient] = []
            // Each has an unwritten response of about 200 kB, once the kernel's buffers are full.
            for _ in 0..<24 {
                let client = try await node.signedIn(.alice)
                try await client.line.setReading(false)
                for number in 0..<60 {
                    try await client.line.send(line: #"{"jsonrpc":"2.0","id":"\#(number)",\#(ask)"#)
                }
                clients.append(client)
            }
            let closed = "postline_outbound_queue_overflows_total"
            while (node.metrics.value(closed) ?? 0) == 0 { try await other.call("me.get") }
            #expect((node.metrics.value(#"postline_connections_closed_total{reason="slow_consumer"}"#) ?? 0) > 0)
            for _ in 0..<50 { try await other.call("me.get") }
            #expect(try await other.call("me.get")["username"] == "bob")
            for client in clients { await client.close() }
        }
    }

    @Test("unhandled requests count for the total limit of queued bytes")
    func unhandledRequests() async throws {
        try await withNode(NodeSettings(maxUnwrittenBytes: 1_048_576)) { node in
            let other = try await node.signedIn(.bob)
            let program = try await node.database.connect()
            _ = try await program.execute(
                "begin; select from public.user_profiles where id = '\(Person.alice.id)' for update")
            let text = String(repeating: "x", count: 60_000)
            var clients: [TestClient] = []
            for _ in 0..<16 {
                let client = try await node.signedIn(.alice)
                try await client.line.send(
                    line: #"{"jsonrpc":"2.0","id":"0","method":"me.update","params":{"bio":"waits"}}"#)
                for number in 1...3 {
                    try await client.line.send(
                        line: #"{"jsonrpc":"2.0","id":"\#(number)","method":"server.info","params":{"x":"\#(text)"}}"#)
                }
                clients.append(client)
            }
            while (node.metrics.value("postline_outbound_queue_overflows_total") ?? 0) == 0 {
                try await other.call("me.get")
            }
            _ = try await program.execute("commit")
            await program.close()
            #expect(try await other.call("me.get")["username"] == "bob")
            for client in clients { await client.close() }
        }
    }
}

extension MetricsRegistry {
    /// Returns the value of a series, by name and labels.
    func value(_ series: String) -> Double? {
        text.split(separator: "\n").first { $0.hasPrefix(series + " ") }.flatMap {
            Double($0.dropFirst(series.count + 1))
        }
    }
}
