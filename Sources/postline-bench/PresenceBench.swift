import ChangeFeed
import LineClient
import NIOCore
import NIOPosix
import PrivatePostgres

/// Ten thousand users come online at two nodes: the time until a contact of all of them knows, the statements that it
/// takes, and the cost for senders. Also the latency of typing notices between nodes.
struct PresenceBench {
    private static let guests = 10_000
    private static let groupSize = 10
    private static let senders = 4

    /// The connections at a time: enough to keep the machine busy, but not all, which is `crowd`.
    private static let atOnce = 256

    /// The part of an arrival in which sends are measured.
    private static let beginning = Duration.seconds(5)

    /// The time after which an idle backend has reported its statistics.
    private static let countsAreLate = Duration.seconds(11)

    let world: BenchWorld
    let seconds: Int
    let say: @Sendable (String) -> Void

    /// The measurements of one arrival.
    private struct Arrival {
        let watchers: [Watcher]
        let end: ContinuousClock.Instant
        let seconds: Double
        let sends: Percentiles

        var text: String { BenchResult.text(seconds, 1) }
    }

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        // Not a receiver of typing notices: with so many conversations a sync is live only after several pages.
        guard let observer = world.pairs.last?.sender else { throw BenchError("There is nobody to tell.") }
        say("making \(Self.guests) guests in groups of \(Self.groupSize), which takes a minute or some …")
        let crowd = try await GuestCrowd.make(Self.guests, port: world.port, group: world.threads)
        _ = try await crowd.group(by: Self.groupSize, with: [observer.id], in: world.postgres)
        try await world.postgres.psql("vacuum analyze", database: "postline")
        let threads = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var result: (table: [String], figures: [BenchResult])?
        try await BenchNode.run(on: world.postgres, secret: world.secret) { first in
            try await BenchNode.run(on: world.postgres, secret: world.secret) { second in
                result = try await measure(crowd, observer, ports: [first.line, second.line], threads)
            }
        }
        try await threads.shutdownGracefully()
        guard let result else { throw BenchError("Nothing was measured.") }
        return result
    }

    private func measure(
        _ crowd: GuestCrowd, _ observer: BenchWorld.User, ports: [Int], _ threads: MultiThreadedEventLoopGroup
    ) async throws -> (table: [String], figures: [BenchResult]) {
        var senders: [(LineClient, String)] = []
        for (number, pair) in world.pairs.prefix(Self.senders).enumerated() {
            let client = try await world.connect(pair.sender, port: ports[number % ports.count], group: threads)
            senders.append((client, pair.conversationID))
        }
        // Warm up caches and plans.
        _ = try await send(senders, for: .seconds(1))
        let calm = try await send(senders, for: .seconds(seconds))

        say("\(Self.guests) arrive in the background …")
        let unseen = try await arrive(crowd, ports, beside: senders, inBackground: true)
        for watcher in unseen.watchers { watcher.close() }
        // Let the nodes handle the disconnects.
        try await Task.sleep(for: .seconds(2))

        say("\(Self.guests) come online …")
        let following = try await PresenceObserver.open(
            world, observer, of: Set(crowd.guests.map(\.id)), port: ports[0], group: threads)
        let reportsBefore = try await reports()
        let seen = try await arrive(crowd, ports, beside: senders, inBackground: false)
        let shown = max(.zero, try await following.allShown() - seen.end) / .seconds(1)
        let waited = BenchResult.text(seen.seconds + shown + Self.countsAreLate / .seconds(1), 0)
        try await Task.sleep(for: Self.countsAreLate)
        let statements = try await reports() - reportsBefore

        let typing = try await TypingRound.run(world, from: ports[1], to: ports[0], group: threads)
        let lagged = await following.close()
        for (client, _) in senders { await client.close() }
        for watcher in seen.watchers { watcher.close() }

        func ratio(_ arrival: Arrival) -> Double {
            (arrival.sends.milliseconds(99) ?? 0) / (calm.milliseconds(99) ?? .infinity)
        }
        func times(_ times: Percentiles) -> String { "p50 \(times.text(50)) ms, p99 \(times.text(99)) ms" }
        return (
            [
                "\(Self.guests) come online at two nodes, in groups of \(Self.groupSize) in each of which is one who "
                    + "is told of all",
                "  all were live after \(seen.text) s; \(BenchResult.text(shown, 2)) s later that one was told of the "
                    + "last (\(lagged) times it was told to ask)",
                "  reports in the \(waited) s until all were counted, renewals of leases among them: "
                    + "\(BenchResult.text(statements, 0))",
                "  a send in the first \(Self.beginning / .seconds(1)) s: \(times(seen.sends)); before: \(times(calm))",
                "  the same arrival in the background, which nobody is told of: \(unseen.text) s, a send: "
                    + times(unseen.sends),
                "\(typing.count) notices of typing, from one node to the other beside them: \(times(typing))",
            ],
            [
                BenchResult(name: "presence_shown_seconds", value: shown, unit: "s", goal: .below(3)),
                BenchResult(name: "presence_arrival_seconds", value: seen.seconds, unit: "s", goal: nil),
                BenchResult(name: "presence_statements", value: statements, unit: "reports", goal: .below(100)),
                BenchResult(name: "presence_send_p99_ratio", value: ratio(seen), unit: "ratio", goal: .below(2)),
                BenchResult(name: "background_send_p99_ratio", value: ratio(unseen), unit: "ratio", goal: nil),
                BenchResult(name: "typing_p99_ms", value: typing.milliseconds(99) ?? 0, unit: "ms", goal: .below(50)),
            ]
        )
    }

    /// Connects all users as fast as the machine can, while some send.
    private func arrive(
        _ crowd: GuestCrowd, _ ports: [Int], beside senders: [(LineClient, String)], inBackground: Bool
    ) async throws -> Arrival {
        let start = ContinuousClock.now
        async let sends = send(senders, for: Self.beginning)
        let watchers = try await crowd.watch(
            ports: ports, group: world.threads, tally: Tally(), inBackground: inBackground, atOnce: Self.atOnce)
        let end = ContinuousClock.now
        return Arrival(
            watchers: watchers, end: end, seconds: (end - start) / .seconds(1), sends: try await sends)
    }

    private func send(_ senders: [(LineClient, String)], for time: Duration) async throws -> Percentiles {
        try await BenchLoop.run(senders, for: time, method: "messages.send", SendBench.write).latencies
    }

    /// Returns how often nodes recorded their presence.
    private func reports() async throws -> Double {
        let text = try await world.postgres.psql(
            "select n_tup_ins + n_tup_upd from pg_stat_user_tables where relid = 'app.nodes'::regclass",
            database: "postline")
        guard let count = Double(text.split(separator: "\n").first ?? "") else {
            throw BenchError("PostgreSQL has no count of reports.")
        }
        return count
    }
}
