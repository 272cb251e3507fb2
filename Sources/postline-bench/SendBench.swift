import LineClient
import NIOCore
import PrivatePostgres
import Synchronization
import WireProtocol

/// Messages acknowledged per second, each pushed to a live receiver, compared with the database alone.
struct SendBench {
    /// The time within which the feed has read pgbench's rows, which send no notification. A poll with so many changes
    /// would contain nothing else.
    private static let sweep = Duration.seconds(2)

    private static let content = "Shall we meet at the harbour at seven? I could bring the maps and something to eat."

    let world: BenchWorld
    /// The number of concurrent senders.
    let connections: Int
    let seconds: Int
    let rounds: Int
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        let pushed = PushCounter()
        var receivers: [LineClient] = []
        // Not pgbench's users, who have more messages than a poll contains.
        let pairs = world.pairs.dropFirst(PgBench.mostClients).prefix(connections)
        for pair in pairs { receivers.append(try await world.connect(pair.receiver) { pushed.take($0) }) }
        let senders = try await RequestClients.connect(
            pairs.map { ($0.sender, $0.conversationID) }, port: world.port, group: world.threads)
        let pgbench = PgBench(
            installation: world.installation, url: await world.postgres.url(database: "postline"),
            directory: world.directory)
        let call =
            "select api.send_message(:conversation::uuid, '\(Self.content)', gen_random_uuid(), null, null::jsonb)"
        let count = senders.count
        var comparison = Comparison(
            "Sends at \(count) connections, \(rounds) rounds of \(seconds) s each in turn, every message pushed")
        // Warm up caches and plans.
        _ = try await Self.round(senders, for: .seconds(1))
        _ = try await pgbench.run(call, clients: min(PgBench.mostClients, count), seconds: 1)
        for number in 1...rounds {
            try await Task.sleep(for: Self.sweep)
            let before = pushed.value
            let ours = try await Self.round(senders, for: .seconds(seconds))
            try await pushed.reach(before + ours.latencies.count)
            let theirs = try await pgbench.run(call, clients: min(PgBench.mostClients, count), seconds: seconds)
            say("round \(number): postline \(Int(ours.perSecond))/s, pgbench \(Int(theirs.perSecond))/s")
            comparison.add(ours, theirs)
        }
        for client in receivers { await client.close() }
        senders.end()
        let figure =
            count == 1
            ? BenchResult(name: "send_alone_p50_ratio", value: comparison.p50Ratio, unit: "ratio", goal: .below(1.6))
            : BenchResult(
                name: "send_ratio_\(count)", value: comparison.ratio, unit: "ratio",
                goal: .atLeast(count < 64 ? 1 : 1.5))
        return (comparison.table, [figure])
    }

    /// All senders send one message after another until the time is over.
    private static func round(_ senders: RequestClients, for time: Duration) async throws -> BenchRound {
        try await senders.ask("messages.send", for: time, write)
    }

    /// Writes the params of one send.
    static func write(conversationID: String, params: inout ByteBuffer) {
        params.writeStaticString(#"{"conversation_id":""#)
        params.writeString(conversationID)
        params.writeStaticString(#"","client_id":""#)
        params.writeString(randomUUID())
        params.writeStaticString(#"","content":""#)
        params.writeString(content)
        params.writeStaticString(#""}"#)
    }
}

/// Counts pushed messages over all receivers.
final class PushCounter: Sendable {
    private let count = Atomic(0)

    /// The number of `sync.lagged` notices.
    private let lags = Atomic(0)

    var value: Int { count.load(ordering: .relaxed) }

    func take(_ push: ServerNotification) {
        if push.method == "sync.lagged" { lags.add(1, ordering: .relaxed) }
        guard push.method == "changes", let params = try? push.params() else { return }
        count.add(params["messages"]?.arrayValue?.count ?? 0, ordering: .relaxed)
    }

    /// Waits for the given number of pushes.
    ///
    /// - Throws: if one is missing for ten seconds.
    func reach(_ expected: Int) async throws {
        for _ in 0..<1000 where value < expected { try await Task.sleep(for: .milliseconds(10)) }
        guard value >= expected else {
            throw BenchError(
                "\(expected - value) messages were not pushed; \(lags.load(ordering: .relaxed)) times a receiver was "
                    + "told to ask for what is not.")
        }
    }

    /// Waits until nothing has arrived for a quarter of a second.
    func settle() async throws {
        var last = -1
        for _ in 0..<120 where last != value {
            last = value
            try await Task.sleep(for: .milliseconds(250))
        }
    }
}
