import Foundations
import LineClient
import NIOCore
import PrivatePostgres

/// Messages at a steady pace for a long time, with autovacuum as in production: what grows.
///
/// Sixteen users send to 64 conversations each. Every message is pushed to a live receiver, which moves its read mark
/// after every fourth message.
struct SoakBench {
    private static let people = 16
    private static let conversationsEach = 64
    private static let messagesARead = 4.0
    private static let window = Duration.seconds(30)

    let world: BenchWorld
    let minutes: Int

    /// Messages per second.
    let rate: Double

    /// The plot's file, rewritten with each sample so that an interrupted run has one too.
    let file: String?
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        let pushed = PushCounter()
        var senders: [PacedSends.Sender] = []
        var readers: [Reader] = []
        for (pair, conversations) in try await acquaint() {
            let receiver = try await world.connect(pair.receiver) { pushed.take($0) }
            readers.append(Reader(client: receiver, conversations: conversations))
            senders.append(.init(client: try await world.connect(pair.sender), conversations: conversations))
        }
        let messages = try await count()
        let start = SoakSample(
            minutes: 0, sends: Percentiles([]), memory: 0, database: try await database(), messages: messages)
        try draw([], since: start)
        var samples: [SoakSample] = []
        var sent = 0
        let began = ContinuousClock.now
        while samples.count < 2 * minutes {
            let until = began + Self.window * (samples.count + 1)
            let sends = try await send(senders, readers, until: until, first: sent / Self.people)
            sent += sends.latencies.count
            samples.append(
                SoakSample(
                    minutes: (ContinuousClock.now - began) / .seconds(60), sends: sends.latencies,
                    memory: try await OperationsClient.figure(OperationsClient.memory, port: world.operationsPort),
                    database: try await database(), messages: messages + sent))
            try draw(samples, since: start)
            say(Self.line(samples, since: start))
        }
        try await pushed.reach(sent)
        for client in senders.map(\.client) + readers.map(\.client) { await client.close() }
        let courses = SoakSeries.all(samples, since: start)
        let pace = Double(sent) / ((ContinuousClock.now - began) / .seconds(1))
        return (
            [
                "\(minutes) minutes at \(BenchResult.text(rate, 0)) sends a second: \(sent) were answered, "
                    + "\(BenchResult.text(pace, 1)) a second",
                "  from the second sixth to the last, medians:",
            ] + courses.compactMap(Self.verdict),
            courses.compactMap(\.figure)
        )
    }

    /// A user who reads the messages of its conversations.
    private struct Reader: Sendable {
        let client: LineClient
        let conversations: [String]
    }

    /// Creates the conversations of each pair, by SQL since this is not measured.
    private func acquaint() async throws -> [(BenchWorld.Pair, [String])] {
        let pairs = world.pairs.prefix(Self.people)
        let rows = pairs.map { "('\($0.sender.id)'::uuid, '\($0.receiver.id)'::uuid)" }
        let made = try await world.postgres.psql(
            """
            begin;
            create temporary table talks as
            select gen_random_uuid() as id, sender, receiver
              from (values \(rows.joined(separator: ", "))) p (sender, receiver),
                   generate_series(2, \(Self.conversationsEach));
            insert into public.conversations (id, kind, title) select id, 'group', 'Bench' from talks;
            insert into public.conversation_members (conversation_id, user_id)
            select id, sender from talks union all select id, receiver from talks;
            commit;
            select sender, id from talks;
            """, database: "postline")
        var conversations: [Substring: [String]] = [:]
        for line in made.split(separator: "\n") {
            let fields = line.split(separator: "|")
            guard fields.count == 2 else { continue }
            conversations[fields[0], default: []].append(String(fields[1]))
        }
        return pairs.map { ($0, [$0.conversationID] + conversations[Substring($0.sender.id), default: []]) }
    }

    /// Runs one window: messages at the pace, and read marks.
    private func send(
        _ senders: [PacedSends.Sender], _ readers: [Reader], until end: ContinuousClock.Instant, first: Int
    ) async throws -> PacedSends {
        let interval = Duration.seconds(1) * Double(readers.count) * Self.messagesARead / rate
        return try await withThrowingTaskGroup(of: Void.self) { group in
            for reader in readers {
                group.addTask {
                    try await Self.read(reader.client, reader.conversations, each: interval, until: end, first: first)
                }
            }
            let sends = try await PacedSends.run(senders, pace: rate, for: end - .now, first: first)
            try await group.waitForAll()
            return sends
        }
    }

    private static func read(
        _ client: isolated LineClient, _ conversations: [String], each interval: Duration,
        until end: ContinuousClock.Instant, first: Int
    ) async throws {
        var pace = Pace(each: interval, from: .now, until: end)
        var count = 0
        var params = ByteBuffer()
        while try await pace.next() != nil {
            params.clear()
            params.writeString(#"{"conversation_id":""#)
            params.writeString(conversations[(first + count * Int(messagesARead)) % conversations.count])
            // A number beyond the last message means the last.
            params.writeString(#"","seq":9007199254740991}"#)
            _ = try await client.answer(to: "messages.mark_read", params)
            count += 1
        }
    }

    private func database() async throws -> SoakDatabase {
        try SoakDatabase(row: try await world.postgres.psql(SoakDatabase.question, database: "postline"))
    }

    private func count() async throws -> Int {
        let text = try await world.postgres.psql("select count(*) from public.messages", database: "postline")
        return Int(text.filter { !$0.isWhitespace }) ?? 0
    }

    private func draw(_ samples: [SoakSample], since start: SoakSample) throws {
        guard let file else { return }
        let plot = SoakPlot(minutes: minutes, rate: rate, samples: samples, start: start)
        try BenchFiles.write(plot.multiples.svg, to: file)
    }

    private static func line(_ samples: [SoakSample], since start: SoakSample) -> String {
        guard let last = samples.last else { return "" }
        func now(_ name: String) -> Double {
            SoakSeries.all(samples, since: start).first { $0.name == name }?.values.last ?? 0
        }
        return "\(BenchResult.text(last.minutes, 1)) min: p50 \(last.sends.text(50)) ms, "
            + "p99 \(last.sends.text(99)) ms, "
            + "\(BenchResult.text(last.memory / 1_048_576, 1)) MiB, \(Int(last.database.deadRows)) dead rows, "
            + "\(BenchResult.text(now("log_bytes"), 0)) bytes of log a message, "
            + "\(BenchResult.text(now("hot_share"), 1)) % in place"
    }

    private static func verdict(_ course: SoakSeries) -> String? {
        course.growth.map { growth in
            "  \(TextWidth.fit(course.name, to: 20)) × \(BenchResult.text(growth, 2))"
        }
    }
}
