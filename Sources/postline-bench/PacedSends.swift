import LineClient
import NIOCore
import WireProtocol

/// Messages sent at an even pace (`Pace`).
struct PacedSends: Sendable {
    /// A sender that cycles through its conversations.
    struct Sender: Sendable {
        let client: LineClient
        let conversations: [String]
    }

    struct Sent: Sendable {
        let conversation: String
        let seq: Int
        let answered: ContinuousClock.Instant
        let latency: Duration
    }

    let sent: [Sent]
    let perSecond: Double

    var latencies: Percentiles { Percentiles(sent.map(\.latency)) }

    /// - Parameters:
    ///   - pace: the sends per second of all senders together.
    ///   - first: the index of the conversation that each begins with.
    static func run(
        _ senders: [Sender], pace: Double, for time: Duration, first: Int = 0
    ) async throws -> PacedSends {
        let start = ContinuousClock.now
        let interval = Duration.seconds(1) * Double(senders.count) / pace
        let all = try await withThrowingTaskGroup(of: [Sent].self) { group in
            for (number, sender) in senders.enumerated() {
                let begin = start + interval * number / senders.count
                group.addTask {
                    try await run(
                        sender.client, to: sender.conversations,
                        at: Pace(each: interval, from: begin, until: start + time), first: first)
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        return PacedSends(sent: all, perSecond: Double(all.count) / ((ContinuousClock.now - start) / .seconds(1)))
    }

    /// Runs on the client's thread, as `BenchLoop` does.
    private static func run(
        _ client: isolated LineClient, to conversations: [String], at pace: Pace, first: Int
    ) async throws -> [Sent] {
        var pace = pace
        var sent: [Sent] = []
        var params = ByteBuffer()
        while let now = try await pace.next() {
            let conversation = conversations[(first + sent.count) % conversations.count]
            params.clear()
            SendBench.write(conversationID: conversation, params: &params)
            let answer = try await client.answer(to: "messages.send", params)
            let answered = ContinuousClock.now
            guard let seq = try JSON(parsing: answer)["seq"]?.integerValue else {
                throw BenchError("A message has no number.")
            }
            sent.append(Sent(conversation: conversation, seq: seq, answered: answered, latency: answered - now))
        }
        return sent
    }
}
