import LineClient
import NIOCore
import Postgres
import PrivatePostgres
import WireProtocol

/// The cost of replies, mentions and reactions: a reaction beside a send, lists of messages with them beside lists of
/// plain messages, and the push of a reaction to a message with many.
struct DetailsBench {
    private static let database = "details"
    /// The users of each kind of conversation.
    private static let people = 4
    private static let messages = 50
    private static let reactions = 10_000
    private static let content = "The tide is at half past six, so be there before, and bring the maps."

    let world: BenchWorld
    let seconds: Int
    let rounds: Int
    let say: @Sendable (String) -> Void

    /// The kinds of conversations, each with 50 newest messages of the same text.
    private enum Kind: Int, CaseIterable {
        /// Nothing but text.
        case plain
        /// Each message is a reply that mentions the other user, with reactions of both.
        case detailed
        /// One message has 10,000 reactions.
        case popular
    }

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        try await world.postgres.psql("create database \(Self.database)")
        var result: (table: [String], figures: [BenchResult])?
        try await BenchNode.run(on: world.postgres, database: Self.database, secret: world.secret) { ports in
            let pairs = try await BenchWorld.makePairs(
                Self.people * Kind.allCases.count, port: ports.line, threads: world.threads)
            try await BenchWorld.describe(pairs, in: world.postgres, database: Self.database)
            result = try await run(
                Kind.allCases.map { kind in
                    Array(pairs[kind.rawValue * Self.people..<(kind.rawValue + 1) * Self.people])
                }, port: ports.line)
        }
        guard let result else { throw BenchError("Nothing was measured.") }
        return result
    }

    private func run(
        _ pairs: [[BenchWorld.Pair]], port: Int
    ) async throws -> (table: [String], figures: [BenchResult]) {
        for kind in Kind.allCases {
            for pair in pairs[kind.rawValue] { try await fill(pair, kind, port: port) }
        }
        try await world.postgres.psql("vacuum analyze", database: Self.database)
        let detailed = try await compareLists(.detailed, pairs, "with replies, mentions and reactions", port: port)
        let popular = try await compareLists(.popular, pairs, "one of them with 10,000 reactions", port: port)
        let costs = try await costs(pairs[Kind.plain.rawValue][0])
        let pushes = try await pushes(pairs.map { $0[0] }, port: port)
        return (
            detailed.table + popular.table + [
                "What each costs the database", "  " + DatabaseCost.text("a send", costs.sends),
                "  " + DatabaseCost.text("a reaction", costs.reactions),
                "The push of a reaction has \(pushes.first) bytes for a message without any, "
                    + "\(pushes.popular) for one with \(Self.reactions)",
            ],
            [
                BenchResult(
                    name: "reaction_cost_ratio", value: DatabaseCost.ratio(costs.reactions, costs.sends), unit: "ratio",
                    goal: .below(0.8)),
                BenchResult(
                    name: "reaction_list_ratio", value: 1 / popular.ratio, unit: "ratio", goal: .below(1.2)),
                BenchResult(
                    name: "reaction_push_bytes", value: Double(pushes.popular), unit: "bytes", goal: .below(512)),
                BenchResult(
                    name: "details_list_ratio", value: 1 / detailed.ratio, unit: "ratio", goal: .below(1.5)),
            ]
        )
    }

    /// Sends the newest messages of a conversation.
    private func fill(_ pair: BenchWorld.Pair, _ kind: Kind, port: Int) async throws {
        let sender = try await world.connect(pair.sender, port: port)
        let receiver = try await world.connect(pair.receiver, port: port)
        let conversation = JSON.string(pair.conversationID)
        var last: JSON = .integer(1)
        for _ in 0..<Self.messages {
            let message = try await sender.call(
                "messages.send",
                kind == .detailed
                    ? [
                        "conversation_id": conversation, "content": .string(Self.content), "reply_to_seq": last,
                        "mentions": .array([.string(pair.receiver.id)]),
                    ] : ["conversation_id": conversation, "content": .string(Self.content)])
            last = message["seq"] ?? .null
            guard kind == .detailed else { continue }
            for (client, emoji) in [(sender, "👍"), (receiver, "👍"), (receiver, "🌊")] {
                _ = try await client.call(
                    "messages.react", ["conversation_id": conversation, "seq": last, "emoji": .string(emoji)])
            }
        }
        await sender.close()
        await receiver.close()
        guard kind == .popular, let seq = last.integerValue else { return }
        // The triggers would count one after another. The users need not exist.
        try await world.postgres.psql(
            """
            set session_replication_role = replica;
            insert into public.message_reactions (conversation_id, user_id, seq, emoji)
            select '\(pair.conversationID)', gen_random_uuid(), \(seq), '👍' from generate_series(1, \(Self.reactions));
            insert into public.reaction_counts (conversation_id, seq, counts)
            values ('\(pair.conversationID)', \(seq), '{"👍":\(Self.reactions)}');
            """, database: Self.database)
    }

    /// Compares lists of one kind of conversations with lists of plain ones.
    private func compareLists(
        _ kind: Kind, _ pairs: [[BenchWorld.Pair]], _ title: String, port: Int
    ) async throws -> Comparison {
        var readers: [RequestClients] = []
        for kind in [kind, .plain] {
            readers.append(
                try await RequestClients.connect(
                    pairs[kind.rawValue].map { ($0.sender, $0.conversationID) }, port: port, group: world.threads))
        }
        var comparison = Comparison(
            "Lists of \(Self.messages) messages, \(title), \(rounds) rounds of \(seconds) s each in turn",
            names: ("\(kind)", "plain"))
        for number in 0...rounds {
            // The first round warms up caches and plans.
            let time = Duration.seconds(number == 0 ? 1 : seconds)
            let ours = try await readers[0].ask("messages.list", for: time, ReadBench.write)
            let plain = try await readers[1].ask("messages.list", for: time, ReadBench.write)
            guard number > 0 else { continue }
            say("round \(number): \(kind) \(Int(ours.perSecond))/s, plain \(Int(plain.perSecond))/s")
            comparison.add(ours, plain)
        }
        for reader in readers { reader.end() }
        return comparison
    }

    /// Measures sends, and reactions to the messages sent, for the database.
    private func costs(_ pair: BenchWorld.Pair) async throws -> (sends: [DatabaseCost], reactions: [DatabaseCost]) {
        let session = try await MeasuredSession.open(world, database: Self.database, as: pair.sender)
        let react = Statement("react", "select api.react($1::uuid, $2::bigint, '👍')")
        var costs: (sends: [DatabaseCost], reactions: [DatabaseCost]) = ([], [])
        for number in 0...5 * rounds {
            let sends = try await session.send(to: pair.conversationID)
            let reactions = try await session.measure(sends.seqs.map { Call(react, [pair.conversationID, $0]) })
            // The first round warms up caches and plans.
            guard number > 0 else { continue }
            costs.sends.append(sends.cost)
            costs.reactions.append(reactions.cost)
        }
        await session.close()
        return costs
    }

    /// Returns the bytes of the push of a reaction, to a message without any and to the popular one.
    private func pushes(_ pairs: [BenchWorld.Pair], port: Int) async throws -> (first: Int, popular: Int) {
        var bytes: [Int] = []
        for kind in [Kind.plain, .popular] {
            let pair = pairs[kind.rawValue]
            let (pushes, sink) = AsyncStream.makeStream(of: ServerNotification.self)
            let watcher = try await world.connect(pair.receiver, port: port) { sink.yield($0) }
            let sender = try await world.connect(pair.sender, port: port)
            let list = try await sender.call(
                "messages.list", ["conversation_id": .string(pair.conversationID), "limit": .integer(1)])
            _ = try await sender.call(
                "messages.react",
                [
                    "conversation_id": .string(pair.conversationID), "emoji": .string("🌊"),
                    "seq": list["messages"]?.arrayValue?.last?["seq"] ?? .null,
                ])
            for await push in pushes where push.method == "changes" {
                guard let reactions = try push.params()["reactions"]?.arrayValue, !reactions.isEmpty else { continue }
                bytes.append(push.text.readableBytes)
                break
            }
            await watcher.close()
            await sender.close()
        }
        guard bytes.count == 2 else { throw BenchError("A reaction was not pushed.") }
        return (bytes[0], bytes[1])
    }
}
