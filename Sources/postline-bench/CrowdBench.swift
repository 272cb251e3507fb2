import LineClient
import NIOCore
import NIOPosix
import PrivatePostgres
import WireProtocol

/// Ten thousand live sessions: the cost of each while idle, and the time until all are back after a restart of their
/// node.
struct CrowdBench {
    private static let sessions = 10_000
    private static let senders = 4

    let world: BenchWorld
    let seconds: Int
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        say("making \(Self.sessions) guests, which takes a minute or some …")
        let crowd = try await GuestCrowd.make(Self.sessions, port: world.port, group: world.threads)
        let tally = Tally()
        var table: [String] = []
        var kibibytes = 0.0
        var quiet = Percentiles([])
        var crowded = Percentiles([])
        var cursor: String?
        try await BenchNode.run(on: world.postgres, secret: world.secret) { ports in
            let senders = try await connectSenders(port: ports.line)
            quiet = try await send(senders, for: .seconds(seconds))
            let before = try await OperationsClient.figure(OperationsClient.memory, port: ports.operations)
            let watchers = try await crowd.watch(ports: [ports.line], group: world.threads, tally: tally)
            let after = try await OperationsClient.figure(OperationsClient.memory, port: ports.operations)
            kibibytes = (after - before) / 1_024 / Double(Self.sessions)
            crowded = try await send(senders, for: .seconds(seconds))
            if let (client, _) = senders.first { cursor = try await Self.cursor(by: client) }
            for (client, _) in senders { await client.close() }
            for watcher in watchers { watcher.close() }
        }
        table += [
            "\(Self.sessions) idle live sessions: \(BenchResult.text(kibibytes, 1)) KiB of resident memory each",
            "  a send beside them: p50 \(crowded.text(50)) ms, p99 \(crowded.text(99)) ms; "
                + "without them p50 \(quiet.text(50)) ms, p99 \(quiet.text(99)) ms",
        ]

        guard let cursor else { throw BenchError("There is no cursor.") }
        let observers = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let senders = try await connectSenders(port: world.port, group: observers)
        let calm = try await send(senders, for: .seconds(seconds))
        var storm = 0.0
        var stormy = Percentiles([])
        try await BenchNode.run(on: world.postgres, secret: world.secret) { ports in
            let start = ContinuousClock.now
            async let returned = crowd.watch(
                ports: [ports.line], group: world.threads, tally: tally, cursor: cursor, atOnce: Self.sessions)
            async let others = send(senders, for: .seconds(3))
            let watchers = try await returned
            storm = (ContinuousClock.now - start) / .seconds(1)
            stormy = try await others
            for watcher in watchers { watcher.close() }
        }
        for (client, _) in senders { await client.close() }
        try await observers.shutdownGracefully()
        table += [
            "\(Self.sessions) clients reconnect at once, each with its cursor: all are live again after "
                + "\(BenchResult.text(storm, 1)) s",
            "  a send at the other node in its first 3 s: p99 \(stormy.text(99)) ms; before it \(calm.text(99)) ms",
        ]
        func ratio(_ after: Percentiles, _ before: Percentiles) -> Double {
            (after.milliseconds(99) ?? 0) / (before.milliseconds(99) ?? .infinity)
        }
        return (
            table,
            [
                BenchResult(name: "idle_session_kib", value: kibibytes, unit: "KiB", goal: .below(6)),
                BenchResult(name: "idle_send_p99_ratio", value: ratio(crowded, quiet), unit: "ratio", goal: nil),
                BenchResult(name: "reconnect_storm_seconds", value: storm, unit: "s", goal: .below(5)),
                BenchResult(
                    name: "reconnect_storm_p99_ratio", value: ratio(stormy, calm), unit: "ratio", goal: .below(2)),
            ]
        )
    }

    /// Returns a cursor that has seen everything. A cursor within a page is another case.
    private static func cursor(by client: LineClient) async throws -> String? {
        var page = try await client.call("sync.open", ["messages_per_conversation": .integer(0)])
        while page["more"]?.booleanValue == true, let cursor = page["cursor"] {
            page = try await client.call("sync.open", ["cursor": cursor])
        }
        return page["cursor"]?.stringValue
    }

    private func connectSenders(
        port: Int, group: MultiThreadedEventLoopGroup? = nil
    ) async throws -> [(LineClient, String)] {
        var senders: [(LineClient, String)] = []
        for pair in world.pairs.prefix(Self.senders) {
            senders.append((try await world.connect(pair.sender, port: port, group: group), pair.conversationID))
        }
        return senders
    }

    private func send(_ senders: [(LineClient, String)], for time: Duration) async throws -> Percentiles {
        try await BenchLoop.run(senders, for: time, method: "messages.send", SendBench.write).latencies
    }
}
