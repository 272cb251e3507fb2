import ChangeFeed
import LineClient
import NIOCore
import Postgres
import PrivatePostgres
import Synchronization
import WireProtocol

/// Messages that stream in a hundred conversations: the time from an append until the other user has the piece, at
/// growing paces, and the cost of a piece for the database beside that of a send.
struct StreamBench {
    static let people = 100
    /// The appends per second of all streams together. The last is 50 a second in each.
    private static let offers = [50, 500, 1_000, 1_500, 2_000, 3_000, 5_000]
    private static let bound = 100.0
    private static let piece = "of the harbour, "
    /// The time after which a message at the highest pace has its most characters.
    private static let longest = 10

    let world: BenchWorld
    let seconds: Int
    let rounds: Int
    let say: @Sendable (String) -> Void

    /// A message that has its last piece.
    private struct Message: Sendable {
        let client: LineClient
        let conversation: String
        let seq: Int
        let appends: [Append]
    }

    private struct Append: Sendable {
        let start: ContinuousClock.Instant
        /// The length of the message after it.
        let length: Int
    }

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        let arrivals = PieceArrivals()
        var streams: [(LineClient, String)] = []
        var watchers: [LineClient] = []
        for pair in world.pairs.prefix(Self.people) {
            watchers.append(try await world.connect(pair.receiver) { arrivals.take($0) })
            streams.append((try await world.connect(pair.sender), pair.conversationID))
        }
        var table = ["Pieces of \(Self.piece.count) characters in \(streams.count) conversations"]
        var few = 0.0
        var best: (rate: Double, p99: Double) = (0, 0)
        // Warm up caches and plans.
        _ = try await run(streams, offer: Self.offers[0], for: .seconds(2), arrivals)
        for offer in Self.offers {
            let latencies = try await run(
                streams, offer: offer, for: .seconds(min(seconds, Self.longest)), arrivals)
            let rate = Double(latencies.count) / Double(min(seconds, Self.longest))
            let p99 = latencies.milliseconds(99) ?? 0
            table.append(
                "  offered \(offer)/s: \(Int(rate))/s, until the other user has it p50 \(latencies.text(50)) ms, "
                    + "p99 \(latencies.text(99)) ms")
            say(table[table.count - 1])
            if offer == Self.offers[0] { few = p99 }
            guard p99 < Self.bound, rate > Double(offer) * 0.95 else { break }
            best = (rate, p99)
        }
        for client in watchers + streams.map(\.0) { await client.close() }
        let costs = try await costs()
        table += ["What each costs the database", "  " + DatabaseCost.text("a send", costs.sends)]
        table.append("  " + DatabaseCost.text("a piece of 40 characters", costs.pieces))
        return (
            table,
            [
                BenchResult(name: "stream_few_p99_ms", value: few, unit: "ms", goal: .below(Self.bound)),
                BenchResult(name: "stream_appends_per_second", value: best.rate, unit: "/s", goal: .atLeast(4_750)),
                BenchResult(name: "stream_p99_ms", value: best.p99, unit: "ms", goal: .below(Self.bound)),
                BenchResult(
                    name: "stream_cost_ratio", value: DatabaseCost.ratio(costs.pieces, costs.sends), unit: "ratio",
                    goal: .below(0.5)),
                BenchResult(
                    name: "stream_log_bytes", value: median(costs.pieces.map(\.logBytes)) ?? 0, unit: "bytes",
                    goal: .below(500)),
            ]
        )
    }

    /// Streams one message in each conversation at an even pace, and returns the latencies of the pieces.
    private func run(
        _ streams: [(LineClient, String)], offer: Int, for time: Duration, _ arrivals: PieceArrivals
    ) async throws -> Percentiles {
        arrivals.clear()
        let interval = Duration.seconds(1) * Double(streams.count) / Double(offer)
        // The messages have begun by then.
        let begin = ContinuousClock.now + .seconds(1)
        let messages = try await withThrowingTaskGroup(of: Message.self) { group in
            for (number, (client, conversation)) in streams.enumerated() {
                let pace = Pace(
                    each: interval, from: begin + interval * number / streams.count, until: begin + time)
                group.addTask { try await Self.stream(client, conversation, at: pace) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        var latencies: [Duration] = []
        for message in messages {
            var arrived = try await arrivals.all(in: message.conversation, upTo: message.appends.last?.length ?? 0)[...]
            for append in message.appends {
                // A piece may arrive together with later ones.
                while let first = arrived.first, first.length < append.length { arrived.removeFirst() }
                guard let first = arrived.first else { break }
                latencies.append(first.time - append.start)
            }
            // Not before: a message that is finished has no pieces, also if they were not pushed yet.
            _ = try await message.client.call(
                "messages.finish", ["conversation_id": .string(message.conversation), "seq": .integer(message.seq)])
        }
        return Percentiles(latencies)
    }

    /// Runs on the client's thread, as `BenchLoop` does.
    private static func stream(
        _ client: isolated LineClient, _ conversation: String, at pace: Pace
    ) async throws -> Message {
        let message = try await client.call(
            "messages.send",
            ["conversation_id": .string(conversation), "content": .string(""), "is_streaming": .bool(true)])
        guard let seq = message["seq"]?.integerValue else { throw BenchError("A message has no number.") }
        var pace = pace
        var appends: [Append] = []
        var length = 0
        while let start = try await pace.next() {
            let params = ByteBuffer(
                string: #"{"conversation_id":"\#(conversation)","seq":\#(seq),"start":\#(length),"#
                    + #""content":"\#(piece)"}"#)
            _ = try await client.answer(to: "messages.append", params)
            length += piece.count
            appends.append(Append(start: start, length: length))
        }
        return Message(client: client, conversation: conversation, seq: seq, appends: appends)
    }

    /// Measures sends, and pieces of one message, for the database.
    private func costs() async throws -> (sends: [DatabaseCost], pieces: [DatabaseCost]) {
        guard let pair = world.pairs.first else { throw BenchError("There is nobody to write.") }
        let session = try await MeasuredSession.open(world, as: pair.sender)
        let stream = Statement("stream", "select api.stream_message($1::uuid)")
        let append = Statement(
            "append", "select api.append_to_message($1::uuid, $2::bigint, $3::bigint, repeat('and then, ', 4))")
        let finish = Statement("finish", "select api.finish_message($1::uuid, $2::bigint)")
        var costs: (sends: [DatabaseCost], pieces: [DatabaseCost]) = ([], [])
        for number in 0...5 * rounds {
            let sends = try await session.send(to: pair.conversationID)
            let message = try await session.measure([Call(stream, [pair.conversationID])])
            let seq = try MeasuredSession.seq(of: message.results[0])
            let pieces = try await session.measure(
                (0..<MeasuredSession.calls).map { Call(append, [pair.conversationID, seq, "\($0 * 40)"]) })
            _ = try await session.measure([Call(finish, [pair.conversationID, seq])])
            // The first round warms up caches and plans.
            guard number > 0 else { continue }
            costs.sends.append(sends.cost)
            costs.pieces.append(pieces.cost)
        }
        await session.close()
        return costs
    }
}

/// The pieces that have arrived at the other users.
private final class PieceArrivals: Sendable {
    struct Arrival: Sendable {
        /// The length of the message with the piece.
        let length: Int
        let time: ContinuousClock.Instant
    }

    private let arrivals = Mutex<[String: [Arrival]]>([:])

    func clear() { arrivals.withLock { $0 = [:] } }

    func take(_ push: ServerNotification) {
        guard push.method == "changes", let pieces = try? push.params()["pieces"]?.arrayValue else { return }
        arrivals.withLock { arrivals in
            for piece in pieces {
                guard let conversation = piece["conversation_id"]?.stringValue,
                    let start = piece["start"]?.integerValue, let content = piece["content"]?.stringValue
                else { continue }
                arrivals[conversation, default: []].append(
                    Arrival(length: start + content.utf8.count, time: push.received))
            }
        }
    }

    /// Waits until a message has a length, and returns its pieces.
    ///
    /// - Throws: `BenchError` if one is missing for ten seconds.
    func all(in conversation: String, upTo length: Int) async throws -> [Arrival] {
        for _ in 0..<1000 {
            let arrivals = arrivals.withLock { $0[conversation] ?? [] }
            if let last = arrivals.last, last.length >= length { return arrivals }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw BenchError("A piece was not pushed.")
    }
}
