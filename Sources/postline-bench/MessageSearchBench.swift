import LineClient
import PrivatePostgres
import WireProtocol

/// The duration of a search among a million messages, of which a user may see 20,000 in ten conversations, and another
/// user most of them in 400.
struct MessageSearchBench {
    private static let conversations = 500

    let world: BenchWorld
    let seconds: Int
    let messages: Int
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        guard world.pairs.count > 1 else { throw BenchError("There is nobody to search.") }
        let (few, many) = (world.pairs[0].sender, world.pairs[1].sender)
        say("making \(messages) messages, which takes some minutes …")
        try await fill(few.id, many.id)
        var table = ["Searches among \(messages) messages, one after another"]
        var figures: [BenchResult] = []
        for (name, user, rooms) in [("", few, 10), ("_many", many, 400)] {
            let client = try await world.connect(user)
            // The p99 of the slowest kind, not of the many cheap ones.
            var (words, pieces) = (0.0, 0.0)
            for (kind, isPiece, make) in Self.kinds {
                let end = ContinuousClock.now + .seconds(max(1, seconds / Self.kinds.count))
                var latencies: [Duration] = []
                var (found, partial) = (0, 0)
                while ContinuousClock.now < end {
                    let query = make()
                    let start = ContinuousClock.now
                    let answer = try await client.call("messages.search", ["query": .string(query)])
                    latencies.append(ContinuousClock.now - start)
                    found += answer["messages"]?.arrayValue?.count ?? 0
                    if case .bool(true)? = answer["is_partial"] { partial += 1 }
                }
                let times = Percentiles(latencies)
                table.append(
                    "  \(rooms) conversations, \(kind): p50 \(times.text(50)) ms, p99 \(times.text(99)) ms, "
                        + "\(BenchResult.text(Double(found) / Double(max(1, times.count)), 1)) found, "
                        + "\(partial) of \(times.count) partial")
                let slowest = times.milliseconds(99) ?? 0
                if isPiece { pieces = max(pieces, slowest) } else { words = max(words, slowest) }
            }
            await client.close()
            let isGoal = name.isEmpty
            figures += [
                BenchResult(
                    name: "message_search\(name)_p99_ms", value: words, unit: "ms",
                    goal: isGoal ? .below(messages > 1_000_000 ? 150 : 50) : nil),
                BenchResult(
                    name: "message_search\(name)_pieces_p99_ms", value: pieces, unit: "ms",
                    goal: isGoal ? .below(250) : nil),
            ]
        }
        return (table, figures)
    }

    private static let kinds: [(String, isPiece: Bool, @Sendable () -> String)] = [
        ("a word", false, { word(rank()) }),
        ("two words", false, { "\(word(rank())) \(word(.random(in: 1...50)))" }),
        ("a frequent word", false, { word(.random(in: 1...20)) }),
        ("the beginning of a word", false, { String(word(rank()).prefix(3)) }),
        ("a word that nobody wrote", false, { "zzz\(Int.random(in: 1...9_999))" }),
        ("two characters of Chinese", true, { "\(character())\(character())" }),
    ]

    /// Returns a rank by Zipf's law, as in the messages.
    private static func rank() -> Int {
        let least = 1 << Int.random(in: 0...15)
        return min(60_000, .random(in: least..<2 * least))
    }

    /// Returns the word of a rank: its digits as letters, reversed so that beginnings differ.
    private static func word(_ rank: Int) -> String {
        String("\(rank + 1_000)".reversed().map { Array("bkdfglmnpr")[$0.wholeNumberValue ?? 0] })
    }

    private static func character() -> String {
        Unicode.Scalar(UInt32(0x4e00 + Int.random(in: 0..<400))).map { String($0) } ?? ""
    }

    /// Inserts rows without triggers, as a restored dump does, which is faster, and indexes them at the end.
    private func fill(_ few: String, _ many: String) async throws {
        try await world.postgres.psql(
            """
            set session_replication_role = replica;
            set maintenance_work_mem = '256MB';
            drop index public.messages_words;
            create temporary table room as
            select gen_random_uuid() as id, n from generate_series(1, \(Self.conversations)) n;
            insert into public.conversations (id, kind, title, created_by, last_seq, last_message_time)
            select id, 'group', 'Room ' || n, '\(many)'::uuid, \(messages / Self.conversations), now() from room;
            insert into public.conversation_members (conversation_id, user_id, role, last_read_seq)
            select id, '\(many)'::uuid, 'owner', 0 from room where n <= 400
            union all select id, '\(few)'::uuid, 'member', 0 from room where n <= 10;
            insert into public.messages (conversation_id, seq, sender_id, content, created_at)
            select r.id, m.n / \(Self.conversations) + 1, '\(many)'::uuid, coalesce(m.words, m.pieces),
                   now() - (\(messages) - m.n) * interval '1 year' / \(messages)
              from (select n,
                           (select string_agg(translate(reverse(
                                       (least(exp(random() * ln(60000) + k * 0 + n * 0)::integer, 60000) + 1000)::text),
                                   '0123456789', 'bkdfglmnpr'), ' ')
                              from generate_series(1, 10) k where n % 20 <> 7) as words,
                           (select string_agg(chr(19968 + (400 * power(random() + k * 0 + n * 0, 2))::integer), '')
                              from generate_series(1, 20) k where n % 20 = 7) as pieces
                      from generate_series(0, \(messages) - 1) n) m
              join room r on r.n = m.n % \(Self.conversations) + 1;
            create index messages_words on public.messages
                using gin (app.message_words(conversation_id, created_at, content))
                with (fastupdate = on, gin_pending_list_limit = 16384) where content <> '';
            alter index public.messages_words alter column 1 set statistics 0;
            vacuum analyze public.messages;
            analyze public.conversations;
            analyze public.conversation_members;
            """, database: "postline")
    }
}
