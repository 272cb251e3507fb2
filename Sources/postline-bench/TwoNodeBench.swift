import Foundations
import LineClient
import PrivatePostgres

/// The cost of a second node: the same users at one node and spread over two, alternating, with every message pushed to
/// its receiver.
struct TwoNodeBench {
    private static let people = 16

    let world: BenchWorld
    let seconds: Int
    let rounds: Int
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        var sends: [(one: Double, two: Double)] = []
        var lists: [(one: Double, two: Double)] = []
        try await BenchNode.run(on: world.postgres, secret: world.secret) { second in
            for number in 0...rounds {
                let one = try await round([world.port])
                let two = try await round([world.port, second.line])
                // The first round warms up caches and plans.
                if number == 0 { continue }
                sends.append((one.sends, two.sends))
                lists.append((one.lists, two.lists))
                say("round \(number): sends \(Int(one.sends))/s at one, \(Int(two.sends))/s at two")
            }
        }
        func row(_ name: String, _ rates: [(one: Double, two: Double)]) -> String {
            "  \(TextWidth.fit(name, to: 8)) \(Int(median(rates.map(\.one)) ?? 0))/s at one node, "
                + "\(Int(median(rates.map(\.two)) ?? 0))/s at two"
        }
        return (
            [
                "\(Self.people) people at one node, and at two over the same database, \(rounds) rounds in turn",
                row("sends", sends), row("lists", lists),
            ],
            [
                BenchResult(
                    name: "two_node_send_ratio", value: median(sends.map { $0.two / $0.one }) ?? 0, unit: "ratio",
                    goal: .atLeast(1.2)),
                BenchResult(
                    name: "two_node_list_ratio", value: median(lists.map { $0.two / $0.one }) ?? 0, unit: "ratio",
                    goal: .atLeast(1)),
            ]
        )
    }

    private func round(_ ports: [Int]) async throws -> (sends: Double, lists: Double) {
        let pushed = PushCounter()
        var senders: [(LineClient, String)] = []
        var receivers: [LineClient] = []
        for (number, pair) in world.pairs.prefix(Self.people).enumerated() {
            // Each receiver is at another node than its sender, if there are two.
            let receiver = try await world.connect(pair.receiver, port: ports[(number + 1) % ports.count]) {
                pushed.take($0)
            }
            receivers.append(receiver)
            senders.append(
                (try await world.connect(pair.sender, port: ports[number % ports.count]), pair.conversationID))
        }
        let time = Duration.seconds(seconds) / 2
        let sends = try await BenchLoop.run(senders, for: time, method: "messages.send", SendBench.write)
        try await pushed.reach(sends.latencies.count)
        let lists = try await BenchLoop.run(senders, for: time, method: "messages.list", ReadBench.write)
        for client in receivers + senders.map(\.0) { await client.close() }
        return (sends.perSecond, lists.perSecond)
    }
}
