internal import Foundation
internal import LineClient
internal import Logging
internal import Messaging
internal import PostlineClient
internal import PrivatePostgres

/// What an app waits for: its start without a network, the return to one, and a change that another makes.
///
/// All of it stands on one store of 50 conversations with 10,000 messages.
@MainActor
struct ClientBench {
    private static let conversations = 50
    private static let messages = 200

    let world: BenchWorld
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchFigure]) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("postline-bench-client")
        try? FileManager.default.removeItem(at: folder)
        defer { try? FileManager.default.removeItem(at: folder) }
        say("making \(Self.conversations) conversations with \(Self.messages) messages each …")
        let client = try make(folder, port: world.port)
        try await client.register(
            email: "bench-\(randomUUID())@example.com", password: BenchWorld.password, fullName: "Bea Bench")
        try await isLive(client)
        let other = world.pairs[0].sender
        var ids: [String] = []
        for number in 1...Self.conversations {
            ids.append(try await client.createGroup("Group \(number)", with: [other.id]))
        }
        try await say(Self.messages, by: other, in: ids)
        while client.conversations.contains(where: { $0.lastSeq < Self.messages }) {
            try await Task.sleep(for: .milliseconds(10))
        }
        for id in ids {
            let chat = client.chat(with: id)
            repeat { try await chat.loadOlder() } while chat.hasOlder
        }
        await client.disconnect()

        let starts = try await (0..<20).asyncMap { _ in try await coldStart(folder, ids) }
        let (empty, full) = try await returns(client, other, ids)
        let observed = try await observedChange(client, other, ids[0])
        await client.disconnect()

        let start = Percentiles(starts)
        return (
            [
                "A client whose store has \(Self.conversations) conversations and "
                    + "\(Self.conversations * Self.messages) messages",
                "  its start without a network, until list and newest messages are there: p50 \(start.text(50)) ms, "
                    + "p95 \(start.text(95)) ms",
                "  its return to a server: \(BenchFigure.text(empty, 0)) ms, with 1,000 new messages "
                    + "\(BenchFigure.text(full, 0)) ms",
                "  from another's send until it is shown: p50 \(observed.text(50)) ms, p99 \(observed.text(99)) ms",
            ],
            [
                BenchFigure(
                    name: "client_cold_start_ms", value: start.milliseconds(95) ?? 0, unit: "ms", goal: .below(100)),
                BenchFigure(name: "client_delta_ms", value: full - empty, unit: "ms", goal: .below(150)),
                BenchFigure(
                    name: "client_observed_p99_ms", value: observed.milliseconds(99) ?? 0, unit: "ms", goal: .below(50)),
            ]
        )
    }

    private func make(_ folder: URL, port: Int) throws -> PostlineClient {
        try PostlineClient(
            server: .line("127.0.0.1", port: port, isEncrypted: false), store: .file(in: folder),
            logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() })
    }

    private func isLive(_ client: PostlineClient) async throws {
        while client.state != .live { try await Task.sleep(for: .milliseconds(1)) }
    }

    /// Somebody says so much in each of these, by SQL.
    private func say(_ count: Int, by user: BenchWorld.User, in conversations: [String]) async throws {
        let ids = conversations.map { "'\($0)'" }.joined(separator: ",")
        try await world.postgres.psql(
            """
            insert into messages (conversation_id, sender_id, content)
            select c, '\(user.id)', 'message ' || n || ' of a length that people write, now and then' from
            unnest(array[\(ids)]::uuid[]) c, generate_series(1, \(count)) n
            """, database: "postline")
    }

    /// How long it takes until an app that starts without a network has its list and a chat's newest messages.
    private func coldStart(_ folder: URL, _ ids: [String]) async throws -> Duration {
        let start = ContinuousClock.now
        // Nothing listens there.
        let client = try make(folder, port: 1)
        let chat = client.chat(with: ids[0])
        guard client.conversations.count == Self.conversations, chat.messages.count == 50 else {
            throw BenchError(
                "the store has \(client.conversations.count) conversations, \(chat.messages.count) messages")
        }
        let time = ContinuousClock.now - start
        await client.disconnect()
        return time
    }

    /// How long a return takes with nothing new, and with a thousand new messages, in milliseconds.
    private func returns(
        _ client: PostlineClient, _ other: BenchWorld.User, _ ids: [String]
    ) async throws -> (Double, Double) {
        func once() async throws -> Double {
            let start = ContinuousClock.now
            try client.connect()
            try await isLive(client)
            let time = (ContinuousClock.now - start) / .milliseconds(1)
            await client.disconnect()
            return time
        }
        var empty: [Double] = []
        var full: [Double] = []
        for _ in 0..<5 {
            _ = try await once()
            empty.append(try await once())
            try await say(20, by: other, in: ids)
            full.append(try await once())
        }
        return (median(empty) ?? 0, median(full) ?? 0)
    }

    /// From the moment at which another sends until the chat shows it.
    private func observedChange(
        _ client: PostlineClient, _ other: BenchWorld.User, _ id: String
    ) async throws -> Percentiles {
        try client.connect()
        try await isLive(client)
        let chat = client.chat(with: id)
        let line = try await world.connect(other)
        var times: [Duration] = []
        for number in 0..<300 {
            let start = ContinuousClock.now
            let content = "observed \(number)"
            async let answer = line.call(
                "messages.send", ["conversation_id": .string(id), "content": .string(content)])
            while chat.messages.last?.content != content { await Task.yield() }
            times.append(ContinuousClock.now - start)
            _ = try await answer
            // Within what a user may send.
            try await Task.sleep(for: .milliseconds(50))
        }
        await line.close()
        return Percentiles(times)
    }
}

extension Sequence {
    fileprivate func asyncMap<Value>(_ body: (Element) async throws -> Value) async throws -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await body(element)) }
        return values
    }
}
