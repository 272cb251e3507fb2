import Foundations
import LineClient
import PrivatePostgres
import Synchronization
import WireProtocol

/// An export of 100,000 messages, and the expiry of a million, each beside sends at an even pace.
struct HistoryBench {
    private static let conversations = 500
    private static let messages = 1_000_000

    /// The conversations of the user who exports: 100,000 messages.
    private static let exported = 50

    /// The sends per second.
    private static let pace = 200.0

    let world: BenchWorld
    let seconds: Int
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        var (table, figures): ([String], [BenchResult]) = ([], [])
        let exporter = world.pairs[0].sender
        say("making \(Self.messages) messages, which takes a minute …")
        try await fill(for: exporter.id)
        let size = try await tableSize()
        try await BenchNode.run(on: world.postgres, secret: world.secret) { ports in
            let senders = try await senders(port: ports.line)
            let before = try await OperationsClient.figure(OperationsClient.memory, port: ports.operations)
            let client = try await LineClient.connect(host: "127.0.0.1", port: ports.line)
            _ = try await client.call("session.authenticate", ["access_token": .string(exporter.accessToken)])
            let (time, count, highest, beside) = try await besides(senders) { isOver in
                try await export(by: client, ports, until: isOver)
            }
            await client.close()
            let alone = try await PacedSends.run(senders, pace: Self.pace, for: .seconds(seconds)).latencies
            for sender in senders { await sender.client.close() }
            table.append(
                "An export of \(count) objects took \(BenchResult.text(time / .seconds(1), 1)) s; a send's p99 "
                    + "\(beside.text(99)) ms beside \(alone.text(99)) afterwards")
            figures += [
                ratio("export_send_p99_ratio", beside, alone),
                BenchResult(name: "export_seconds", value: time / .seconds(1), unit: "s", goal: nil),
                BenchResult(
                    name: "export_memory_mb", value: (highest - before) / 1_048_576, unit: "MB", goal: .below(16)),
            ]
        }
        try await BenchNode.run(
            on: world.postgres, secret: world.secret, environment: ["POSTLINE_MESSAGE_RETENTION_DAYS": "30"]
        ) { ports in
            let senders = try await senders(port: ports.line)
            let (time, _, _, beside) = try await besides(senders) { isOver in
                while try await old() > 0 { try await Task.sleep(for: .milliseconds(500)) }
                isOver.set()
                return (0, 0)
            }
            let alone = try await PacedSends.run(senders, pace: Self.pace, for: .seconds(seconds)).latencies
            for sender in senders { await sender.client.close() }
            table.append(
                "\(Self.messages) messages expired in \(BenchResult.text(time / .seconds(1), 0)) s; a send's p99 "
                    + "\(beside.text(99)) ms beside \(alone.text(99)) afterwards")
            figures += [
                ratio("expiry_send_p99_ratio", beside, alone),
                BenchResult(
                    name: "expired_per_second", value: Double(Self.messages) / (time / .seconds(1)), unit: "1/s",
                    goal: nil),
            ]
        }
        try await world.postgres.psql("vacuum public.messages", database: "postline")
        try await fill(for: exporter.id)
        let again = try await tableSize()
        table.append("The table with a million messages: \(size >> 20) MB at first, \(again >> 20) MB the second time")
        figures.append(
            BenchResult(
                name: "expiry_table_ratio", value: Double(again) / Double(size), unit: "ratio", goal: .below(1.1)))
        return (table, figures)
    }

    private func ratio(_ name: String, _ busy: Percentiles, _ quiet: Percentiles) -> BenchResult {
        BenchResult(
            name: name, value: (busy.milliseconds(99) ?? 0) / max(quiet.milliseconds(99) ?? 0, 0.001), unit: "ratio",
            goal: .below(1.5))
    }

    /// Sends at the pace until `work` sets its flag, and returns the time of the work, its results, and the latencies.
    private func besides(
        _ senders: [PacedSends.Sender], _ work: @Sendable (Flag) async throws -> (Int, Double)
    ) async throws -> (time: Duration, count: Int, highest: Double, latencies: Percentiles) {
        let isOver = Flag()
        async let sent = sends(senders, until: isOver)
        let start = ContinuousClock.now
        let (count, highest) = try await work(isOver)
        let time = ContinuousClock.now - start
        return (time, count, highest, Percentiles(try await sent))
    }

    private func sends(_ senders: [PacedSends.Sender], until isOver: Flag) async throws -> [Duration] {
        var latencies: [Duration] = []
        while !isOver.isSet || latencies.isEmpty {
            latencies += try await PacedSends.run(senders, pace: Self.pace, for: .seconds(1)).sent.map(\.latency)
        }
        return latencies
    }

    /// Reads all pages, and returns the number of objects, and the highest memory of the node in bytes.
    private func export(
        by client: LineClient, _ ports: BenchNode.Ports, until isOver: Flag
    ) async throws -> (Int, Double) {
        defer { isOver.set() }
        var (count, pages, highest) = (0, 0, 0.0)
        var position: String?
        repeat {
            let page = try await client.call("me.export", position.map { ["after": .string($0)] } ?? [:])
            count += page["objects"]?.arrayValue?.count ?? 0
            position = page["next"]?.stringValue
            pages += 1
            if pages % 50 == 0 {
                highest = max(
                    highest, try await OperationsClient.figure(OperationsClient.memory, port: ports.operations))
            }
        } while position != nil
        return (count, highest)
    }

    private func senders(port: Int) async throws -> [PacedSends.Sender] {
        var senders: [PacedSends.Sender] = []
        for pair in world.pairs.dropFirst().prefix(8) {
            let client = try await LineClient.connect(host: "127.0.0.1", port: port)
            _ = try await client.call("session.authenticate", ["access_token": .string(pair.sender.accessToken)])
            senders.append(.init(client: client, conversations: [pair.conversationID]))
        }
        return senders
    }

    /// The number of conversations that have old messages.
    private func old() async throws -> Int {
        try await number("select count(*) from public.conversations where title like 'Old %' and first_seq <= last_seq")
    }

    private func tableSize() async throws -> Int {
        try await number("select pg_table_size('public.messages')")
    }

    private func number(_ query: String) async throws -> Int {
        let text = try await world.postgres.psql(query, database: "postline")
        return Int(text.split(whereSeparator: \.isWhitespace).first { $0.allSatisfy(\.isNumber) } ?? "0") ?? 0
    }

    /// Inserts messages of two months ago without triggers, as a restored dump does.
    private func fill(for user: String) async throws {
        let each = Self.messages / Self.conversations
        try await world.postgres.psql(
            """
            set session_replication_role = replica;
            create temporary table room as
            select gen_random_uuid() as id, n from generate_series(1, \(Self.conversations)) n;
            insert into public.conversations (id, kind, title, created_by, last_seq, last_message_time)
            select id, 'group', 'Old ' || n, '\(user)'::uuid, \(each), now() - interval '60 days' from room;
            insert into public.conversation_members (conversation_id, user_id, role, last_read_seq)
            select id, '\(user)'::uuid, 'owner', \(each) from room where n <= \(Self.exported);
            insert into public.messages (conversation_id, seq, sender_id, client_id, content, created_at)
            select r.id, m.n / \(Self.conversations) + 1, '\(user)'::uuid, gen_random_uuid(),
                   'Are you coming on the hike, and do you bring the map? ' || m.n,
                   now() - interval '60 days' + m.n * interval '1 millisecond'
              from generate_series(0, \(Self.messages) - 1) m (n)
              join room r on r.n = m.n % \(Self.conversations) + 1;
            vacuum analyze public.messages;
            analyze public.conversations;
            analyze public.conversation_members;
            checkpoint;
            """, database: "postline")
    }
}

/// A flag that another task sets.
private final class Flag: Sendable {
    private let value = Atomic(false)
    var isSet: Bool { value.load(ordering: .acquiring) }
    func set() { value.store(true, ordering: .releasing) }
}
