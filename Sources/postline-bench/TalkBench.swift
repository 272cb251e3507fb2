import LineClient
import PrivatePostgres
import Synchronization
import WireProtocol

/// Two people who talk in one conversation: both follow it live, and each sends one message at a time.
///
/// They are compared with two clients of pgbench that send into one conversation.
struct TalkBench {
    private static let content = "Shall we meet at the harbour at seven?"

    let world: BenchWorld
    let seconds: Int
    let rounds: Int
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        // Not pgbench's users: with its many rows a poll would end their live sync.
        guard let pair = world.pairs.dropFirst(PgBench.mostClients).first else {
            throw BenchError("There is nobody to talk.")
        }
        let pushes = PushTimes()
        let one = try await world.connect(pair.sender) { pushes.take($0, at: pair.sender.id) }
        let other = try await world.connect(pair.receiver) { pushes.take($0, at: pair.receiver.id) }
        let pgbench = PgBench(
            installation: world.installation, url: await world.postgres.url(database: "postline"),
            directory: world.directory)
        let call =
            "select api.send_message(:conversation::uuid, '\(Self.content)', gen_random_uuid(), null, null::jsonb)"
        var comparison = Comparison("Two people who talk in one conversation, \(rounds) rounds of \(seconds) s")
        var pushRatios: [Double] = []
        for number in 0...rounds {
            // The first round warms up caches and plans.
            let time = Duration.seconds(number == 0 ? 1 : seconds)
            async let first = Self.talk(one, in: pair, from: pair.sender.id, for: time, pushes)
            async let second = Self.talk(other, in: pair, from: pair.receiver.id, for: time, pushes)
            let start = ContinuousClock.now
            let responses = try await Percentiles(first + second)
            let elapsed = (ContinuousClock.now - start) / .seconds(1)
            let arrivals = Percentiles(try await pushes.all(responses.count))
            let theirs = try await pgbench.run(
                call, clients: 2, asFirstUser: true, seconds: number == 0 ? 1 : seconds)
            // The feed reads pgbench's rows meanwhile.
            try await Task.sleep(for: .seconds(2))
            pushes.clear()
            guard number > 0 else { continue }
            let ours = BenchRound(perSecond: Double(responses.count) / elapsed, latencies: responses)
            say(
                "round \(number): postline \(Int(ours.perSecond))/s, response p50 \(responses.text(50)) ms, "
                    + "push p50 \(arrivals.text(50)) ms; pgbench \(Int(theirs.perSecond))/s")
            comparison.add(ours, theirs)
            pushRatios.append((arrivals.milliseconds(50) ?? .infinity) / (responses.milliseconds(50) ?? 0))
        }
        await one.close()
        await other.close()
        return (
            comparison.table,
            [
                BenchResult(name: "talk_ratio", value: comparison.ratio, unit: "ratio", goal: .atLeast(0.6)),
                BenchResult(
                    name: "talk_push_p50_ratio", value: median(pushRatios) ?? 0, unit: "ratio", goal: .below(1.5)),
            ]
        )
    }

    /// Sends one message after another, and returns the time of each until its response.
    private static func talk(
        _ client: LineClient, in pair: BenchWorld.Pair, from user: String, for time: Duration, _ pushes: PushTimes
    ) async throws -> [Duration] {
        var latencies: [Duration] = []
        let end = ContinuousClock.now + time
        while ContinuousClock.now < end {
            let id = randomUUID()
            let start = ContinuousClock.now
            pushes.sent(id, by: user, at: start)
            _ = try await client.call(
                "messages.send",
                [
                    "conversation_id": .string(pair.conversationID), "client_id": .string(id),
                    "content": .string(content),
                ])
            latencies.append(ContinuousClock.now - start)
        }
        return latencies
    }
}

/// The times from a send until its push to the other person.
private final class PushTimes: Sendable {
    private struct State {
        var sent: [String: (user: String, at: ContinuousClock.Instant)] = [:]
        var times: [Duration] = []
    }

    private let state = Mutex(State())

    func sent(_ id: String, by user: String, at time: ContinuousClock.Instant) {
        state.withLock { $0.sent[id] = (user, time) }
    }

    func take(_ push: ServerNotification, at user: String) {
        guard push.method == "changes", let params = try? push.params() else { return }
        state.withLock { state in
            for message in params["messages"]?.arrayValue ?? [] {
                guard let id = message["client_id"]?.stringValue, let sent = state.sent[id], sent.user != user
                else { continue }
                state.sent[id] = nil
                state.times.append(push.received - sent.at)
            }
        }
    }

    /// Waits for that many pushes, and returns their times.
    ///
    /// - Throws: `BenchError` if one is missing for ten seconds.
    func all(_ count: Int) async throws -> [Duration] {
        for _ in 0..<1000 {
            let times = state.withLock { $0.times }
            if times.count >= count { return times }
            try await Task.sleep(for: .milliseconds(10))
        }
        throw BenchError("A message was not pushed.")
    }

    func clear() { state.withLock { $0 = State() } }
}
