import LineClient
import NIOCore

/// Requests per second over kept HTTP connections, compared with the line protocol.
struct HTTPRequestBench {
    private static let connections = 16

    let world: BenchWorld
    let seconds: Int
    let rounds: Int
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        let pushed = PushCounter()
        var receivers: [LineClient] = []
        var overHTTP: [(HTTPClient, String)] = []
        var overLines: [(LineClient, String)] = []
        for pair in world.pairs.prefix(Self.connections) {
            receivers.append(try await world.connect(pair.receiver) { pushed.take($0) })
            let client = try await HTTPClient.connect(
                port: world.httpPort, accessToken: pair.sender.accessToken, group: world.threads)
            overHTTP.append((client, pair.conversationID))
            overLines.append((try await world.connect(pair.sender), pair.conversationID))
        }
        let reads = try await compare("me.get", overHTTP, overLines, pushed) { _, params in
            params.writeStaticString("{}")
        }
        let sends = try await compare("messages.send", overHTTP, overLines, pushed, SendBench.write)
        for (client, _) in overHTTP { await client.close() }
        for client in receivers + overLines.map(\.0) { await client.close() }
        let count = overHTTP.count
        return (
            reads.table + sends.table,
            [
                BenchResult(name: "http_me_ratio_\(count)", value: reads.ratio, unit: "ratio", goal: .atLeast(0.7)),
                BenchResult(name: "http_send_ratio_\(count)", value: sends.ratio, unit: "ratio", goal: .atLeast(0.7)),
            ]
        )
    }

    /// - Parameter pushed: counts pushes. A round ends when all sent messages were pushed.
    private func compare(
        _ method: String, _ overHTTP: [(HTTPClient, String)], _ overLines: [(LineClient, String)],
        _ pushed: PushCounter, _ write: @escaping @Sendable (String, inout ByteBuffer) -> Void
    ) async throws -> Comparison {
        var comparison = Comparison(
            "\(method) at \(overHTTP.count) connections, \(rounds) rounds of \(seconds) s each in turn",
            names: ("http", "line"))
        for number in 0...rounds {
            // The first round warms up caches and plans.
            let time = Duration.seconds(number == 0 ? 1 : seconds)
            let ours = try await BenchLoop.run(overHTTP, for: time, method: method, write)
            try await pushed.settle()
            let theirs = try await BenchLoop.run(overLines, for: time, method: method, write)
            try await pushed.settle()
            if number == 0 { continue }
            say("round \(number): \(method) \(Int(ours.perSecond))/s by HTTP, \(Int(theirs.perSecond))/s by lines")
            comparison.add(ours, theirs)
        }
        return comparison
    }
}
