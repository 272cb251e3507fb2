import Foundation
import GRDB
import LineClient
import Logging
import Postline
import PrivatePostgres
import Subprocess
import SystemPackage
import WireProtocol

/// The waiting times of an app: its start without a network, its return to one, and a change by another user.
///
/// The store has 50 conversations with 10,000 messages, at last a million.
@MainActor
struct ClientBench {
    private static let conversations = 50
    private static let messages = 200
    /// The messages that are added to one chat, to open it.
    private static let longChat = 100_000

    let world: BenchWorld
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("postline-bench-client")
        try? FileManager.default.removeItem(at: folder)
        defer { try? FileManager.default.removeItem(at: folder) }
        say("making \(Self.conversations) conversations with \(Self.messages) messages each …")
        let client = try make(folder, port: world.port)
        try await client.register(
            email: "bench-\(randomUUID())@example.com", password: BenchWorld.password, fullName: "Bea Bench")
        try await isLive(client)
        let other = world.pairs[0].sender
        var ids: [Conversation.ID] = []
        for number in 1...Self.conversations {
            ids.append(try await client.createGroup("Group \(number)", with: [User.ID(other.id)]))
        }
        try await say(Self.messages, by: other, in: ids)
        while client.conversations.contains(where: { $0.lastSeq < Self.messages }) {
            try await Task.sleep(for: .milliseconds(10))
        }
        for id in ids {
            let chat = client.chat(with: id)
            try await chat.load()
            repeat { try await chat.loadOlder() } while chat.hasOlder
        }
        await client.disconnect()

        let starts = try await (0..<20).asyncMap { _ in try await coldStart(folder, ids) }
        let (empty, full) = try await returns(client, other, ids)
        let observed = try await observedChange(client, other, ids[0])
        await client.disconnect()
        let memory = try await Self.memoryOfOwnProcess(folder, ids[0])
        say("adding messages to the store until it has a million …")
        try fill(folder, to: 1_000_000)
        let large = Percentiles(try await (0..<20).asyncMap { _ in try await coldStart(folder, ids) })
        try fill(folder, to: 1_000_000 + Self.longChat, in: ids[0])
        let openings = try await openings(folder, ids[0])

        let start = Percentiles(starts)
        return (
            [
                "A client whose store has \(Self.conversations) conversations and "
                    + "\(Self.conversations * Self.messages) messages",
                "  its start without a network, until list and newest messages are there: p50 \(start.text(50)) ms, "
                    + "p95 \(start.text(95)) ms",
                "  the same with a million messages in the store: p50 \(large.text(50)) ms, p95 \(large.text(95)) ms",
                "  opening a chat of more than \(Self.longChat) messages: p95 \(openings.call.text(95)) ms in chat(with:), "
                    + "\(openings.shown.text(95)) ms until it is shown; "
                    + "a jump into it: \(openings.jump.text(95)) ms",
                "  memory that it takes, in a process of its own: \(BenchResult.text(memory, 1)) MB",
                "  its return to a server: \(BenchResult.text(empty, 0)) ms, with 1,000 new messages "
                    + "\(BenchResult.text(full, 0)) ms",
                "  from another's send until it is shown: p50 \(observed.text(50)) ms, p95 \(observed.text(95)) ms, p99 \(observed.text(99)) ms",
            ],
            [
                BenchResult(
                    name: "client_cold_start_ms", value: start.milliseconds(95) ?? 0, unit: "ms", goal: .below(100)),
                BenchResult(
                    name: "client_million_start_ms", value: large.milliseconds(95) ?? 0, unit: "ms", goal: .below(100)),
                BenchResult(
                    name: "client_open_ms", value: openings.shown.milliseconds(95) ?? 0, unit: "ms",
                    goal: .below(5)),
                BenchResult(name: "client_memory_mb", value: memory, unit: "MB", goal: .below(40)),
                BenchResult(name: "client_delta_ms", value: full - empty, unit: "ms", goal: .below(150)),
                BenchResult(
                    name: "client_observed_p99_ms", value: observed.milliseconds(99) ?? 0, unit: "ms", goal: .below(50)),
            ]
        )
    }

    private func make(_ folder: URL, port: Int) throws -> PostlineClient { try Self.make(folder, port: port) }

    private static func make(_ folder: URL, port: Int) throws -> PostlineClient {
        try PostlineClient(
            server: .line("127.0.0.1", port: port, isEncrypted: false), store: .file(in: folder),
            logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() })
    }

    private func isLive(_ client: PostlineClient) async throws {
        while client.state != .live { try await Task.sleep(for: .milliseconds(1)) }
    }

    /// Inserts messages of a user into each conversation, by SQL.
    private func say(_ count: Int, by user: BenchWorld.User, in conversations: [Conversation.ID]) async throws {
        let ids = conversations.map { "'\($0)'" }.joined(separator: ",")
        try await world.postgres.psql(
            """
            insert into messages (conversation_id, sender_id, content)
            select c, '\(user.id)', 'message ' || n || ' of a length that people write, now and then' from
            unnest(array[\(ids)]::uuid[]) c, generate_series(1, \(count)) n
            """, database: "postline")
    }

    /// Returns the time in which an app that starts without a network shows its list and a chat's newest messages.
    private func coldStart(_ folder: URL, _ ids: [Conversation.ID]) async throws -> Duration {
        let start = ContinuousClock.now
        // Nothing listens on this port.
        let client = try make(folder, port: 1)
        let chat = client.chat(with: ids[0])
        try await chat.load()
        guard client.conversations.count == Self.conversations, chat.messages.count == 50 else {
            throw BenchError(
                "the store has \(client.conversations.count) conversations, \(chat.messages.count) messages")
        }
        let time = ContinuousClock.now - start
        await client.disconnect()
        return time
    }

    /// Returns the times to open a chat from the store: in `chat(with:)`, and until the messages are shown, which bounds
    /// the main actor's part; and the time of a jump to the middle.
    private func openings(
        _ folder: URL, _ id: Conversation.ID
    ) async throws -> (call: Percentiles, shown: Percentiles, jump: Percentiles) {
        let client = try make(folder, port: 1)
        await client.disconnect()
        var (calls, shows, jumps): ([Duration], [Duration], [Duration]) = ([], [], [])
        for _ in 0..<50 {
            let start = ContinuousClock.now
            let chat = client.chat(with: id)
            calls.append(ContinuousClock.now - start)
            try await chat.load()
            shows.append(ContinuousClock.now - start)
            guard chat.messages.count == 50, let last = chat.conversation?.lastSeq, last > Self.longChat else {
                throw BenchError("the chat has \(chat.messages.count) messages")
            }
            let jump = ContinuousClock.now
            try await chat.jump(toSeq: last / 2)
            jumps.append(ContinuousClock.now - jump)
        }
        return (Percentiles(calls), Percentiles(shows), Percentiles(jumps))
    }

    /// Returns the memory that a separate process needs for the list and a chat, in megabytes.
    private static func memoryOfOwnProcess(_ folder: URL, _ id: Conversation.ID) async throws -> Double {
        let run = try await Subprocess.run(
            .path("/proc/self/exe"), arguments: ["--client-store", folder.path, "--client-chat", id.rawValue],
            output: .string(limit: 1_000), error: .currentStandardError)
        guard let bytes = run.standardOutput.split(separator: "\n").first.flatMap({ Double($0) }) else {
            throw BenchError("a process of its own did not say how much memory it takes")
        }
        return bytes / 1e6
    }

    /// Opens the store and returns the growth of this process in bytes.
    static func growth(opening folder: String, chat id: String) async throws -> Int {
        let before = try residentBytes()
        let client = try make(URL(fileURLWithPath: folder), port: 1)
        let chat = client.chat(with: Conversation.ID(id))
        try await chat.load()
        // Until the connection attempt has failed.
        while client.state == .connecting { try await Task.sleep(for: .milliseconds(1)) }
        let after = try residentBytes()
        guard client.conversations.count == conversations, !chat.messages.isEmpty else {
            throw BenchError("the store has \(client.conversations.count) conversations")
        }
        await client.disconnect()
        return after - before
    }

    /// Returns the second number of `/proc/self/statm`, which counts pages.
    private static func residentBytes() throws -> Int {
        let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
        guard fields.count > 1, let pages = Int(fields[1]) else { throw BenchError("/proc/self/statm says nothing") }
        return pages * sysconf(Int32(_SC_PAGESIZE))
    }

    /// Inserts messages into the store's file, the same number into each conversation or all into one.
    private func fill(_ folder: URL, to count: Int, in id: Conversation.ID? = nil) throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { $0.hasSuffix(".sqlite") }
        guard let name = names.first, names.count == 1 else { throw BenchError("there are stores \(names)") }
        try DatabaseQueue(path: folder.appendingPathComponent(name).path).write { database in
            let held = try Int.fetchOne(database, sql: "select count(*) from message") ?? 0
            try database.execute(
                sql: """
                    with recursive number (n) as (select 1 union all select n + 1 from number where n < ?)
                    insert into message
                    select c.id, c.last_seq + n, lower(hex(randomblob(16))), c.created_by, null, 'text',
                        'message ' || n || ' of a length that people write, now and then', null, 1,
                        c.updated_at, null, null, null
                    from conversation c, number where c.id = coalesce(?, c.id)
                    """,
                arguments: [(count - held) / (id == nil ? Self.conversations : 1), id?.rawValue])
            try database.execute(
                sql:
                    "update conversation set last_seq = (select max(seq) from message where conversation_id = conversation.id)"
            )
        }
    }

    /// Returns the duration of a return without new messages and with a thousand, in milliseconds.
    private func returns(
        _ client: PostlineClient, _ other: BenchWorld.User, _ ids: [Conversation.ID]
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

    /// Returns the time from another user's send until the chat shows it.
    private func observedChange(
        _ client: PostlineClient, _ other: BenchWorld.User, _ id: Conversation.ID
    ) async throws -> Percentiles {
        try client.connect()
        try await isLive(client)
        let chat = client.chat(with: id)
        try await chat.load()
        let line = try await world.connect(other)
        var times: [Duration] = []
        for number in 0..<300 {
            let start = ContinuousClock.now
            let content = "observed \(number)"
            async let answer = line.call(
                "messages.send", ["conversation_id": .string(id.rawValue), "content": .string(content)])
            while chat.messages.last?.content != content { try await Task.sleep(for: .microseconds(200)) }
            times.append(ContinuousClock.now - start)
            _ = try await answer
            // Stay within the user's rate limit.
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
