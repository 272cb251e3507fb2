import Foundations
import LineClient
import NIOCore
import PrivatePostgres

/// The cost of a large database: the same users do the same in an empty one and in one with a million messages,
/// alternating.
struct GrowthBench {
    private static let users = 100_000
    private static let conversations = 100_000
    private static let messagesEach = 10
    private static let people = 16

    let world: BenchWorld
    let seconds: Int
    let rounds: Int
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        try await world.postgres.psql("create database empty")
        try await world.postgres.psql("create database grown")
        var sends: [Pair] = []
        var lists: [Pair] = []
        var syncs: [Pair] = []
        try await BenchNode.run(on: world.postgres, database: "empty", secret: world.secret) { empty in
            try await BenchNode.run(on: world.postgres, database: "grown", secret: world.secret) { grown in
                say("making \(Self.conversations * Self.messagesEach) messages, which takes a minute or some …")
                try await fill()
                let empty = try await settle(port: empty.line, "empty")
                let grown = try await settle(port: grown.line, "grown")
                for number in 0...rounds {
                    let pairs = [
                        try await compare(empty, grown, in: number, "messages.send", SendBench.write),
                        try await compare(empty, grown, in: number, "messages.list", ReadBench.write),
                        try await compare(empty, grown, in: number, "sync.open") { _, params in
                            params.writeStaticString(#"{"live":false,"messages_per_conversation":20}"#)
                        },
                    ]
                    // The first round warms up caches and plans.
                    if number == 0 { continue }
                    sends.append(pairs[0])
                    lists.append(pairs[1])
                    syncs.append(pairs[2])
                    say("round \(number): sends \(pairs[0].text), lists \(pairs[1].text), syncs \(pairs[2].text)")
                }
                for (client, _) in empty + grown { await client.close() }
            }
        }
        func figure(_ name: String, _ pairs: [Pair]) -> BenchResult {
            BenchResult(
                name: name, value: median(pairs.map { $0.grown / $0.empty }) ?? 0, unit: "ratio", goal: .atLeast(0.95))
        }
        func row(_ name: String, _ pairs: [Pair]) -> String {
            "  \(TextWidth.fit(name, to: 8)) \(Int(median(pairs.map(\.empty)) ?? 0))/s in the empty one, "
                + "\(Int(median(pairs.map(\.grown)) ?? 0))/s in the grown one"
        }
        return (
            [
                "\(Self.people) people in a database with \(Self.users) users, \(Self.conversations) conversations and "
                    + "\(Self.conversations * Self.messagesEach) messages, and in one without",
                row("sends", sends), row("lists", lists), row("syncs", syncs),
            ],
            [
                figure("growth_send_ratio", sends), figure("growth_list_ratio", lists),
                figure("growth_sync_ratio", syncs),
            ]
        )
    }

    private struct Pair {
        let empty: Double
        let grown: Double

        var text: String { "\(Int(empty))/s and \(Int(grown))/s" }
    }

    private func compare(
        _ empty: [(LineClient, String)], _ grown: [(LineClient, String)], in round: Int, _ method: String,
        _ write: @escaping @Sendable (String, inout ByteBuffer) -> Void
    ) async throws -> Pair {
        // The sides alternate in going first: the second runs while the database still flushes the writes of the first,
        // and the machine's speed varies.
        var sums = (empty: 0.0, grown: 0.0)
        let turns = round % 2 == 0 ? [false, true, true, false] : [true, false, false, true]
        for isGrown in turns + turns {
            let rate = try await BenchLoop.run(
                isGrown ? grown : empty, for: .seconds(max(seconds, 6)) / 6, method: method, write
            ).perSecond
            if isGrown { sums.grown += rate } else { sums.empty += rate }
        }
        // Each had half of twice as many turns.
        return Pair(empty: sums.empty / Double(turns.count), grown: sums.grown / Double(turns.count))
    }

    /// Creates the measured users, alike in both databases.
    private func settle(port: Int, _ database: String) async throws -> [(LineClient, String)] {
        let pairs = try await BenchWorld.makePairs(Self.people, port: port, threads: world.threads)
        try await BenchWorld.describe(pairs, in: world.postgres, database: database)
        var clients: [(LineClient, String)] = []
        for pair in pairs { clients.append((try await world.connect(pair.sender, port: port), pair.conversationID)) }
        return clients
    }

    /// Inserts rows without triggers, as a restored dump does, which is faster. Each user has two conversations.
    private func fill() async throws {
        try await world.postgres.psql(
            """
            set session_replication_role = replica;
            create temp table people as select n, gen_random_uuid() as id from generate_series(1, \(Self.users)) n;
            insert into public.user_profiles (id, username, full_name)
            select id, 'user' || n, 'Person ' || n from people;
            create temp table talks as
            select gen_random_uuid() as id, least(a.id, b.id) as one, greatest(a.id, b.id) as two
              from people a join people b on b.n = a.n % \(Self.users) + 1;
            insert into public.conversations (id, kind, participant1_id, participant2_id, last_seq,
                   last_message_content, last_message_time, last_message_sender_id, last_message_xid)
            select id, 'direct', one, two, \(Self.messagesEach), 'Message', now(), one, pg_current_xact_id() from talks;
            insert into public.conversation_members (conversation_id, user_id, last_read_seq, sent_seq)
            select id, one, \(Self.messagesEach), \(Self.messagesEach) from talks
            union all select id, two, 0, 0 from talks;
            insert into public.messages (conversation_id, seq, sender_id, content, created_at)
            select id, n, one, 'Message ' || n, now() from talks, generate_series(1, \(Self.messagesEach)) n;
            """, database: "grown")
    }
}
