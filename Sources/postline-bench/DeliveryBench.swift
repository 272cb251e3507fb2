import Postgres
import PrivatePostgres

/// The deliveries per second that a node sustains for messages inserted by SQL.
///
/// The load grows at an even pace, independent of the service, until deliveries are late.
struct DeliveryBench {
    private static let watchers = 1_000
    private static let offers = [50_000, 100_000, 150_000, 200_000, 300_000, 400_000]
    private static let bound = 100.0

    let world: BenchWorld
    let seconds: Int
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        guard let sender = world.pairs.first?.sender else { throw BenchError("There is nobody to write.") }
        say("making \(Self.watchers) members of five groups …")
        let crowd = try await GuestCrowd.make(Self.watchers, port: world.port, group: world.threads)
        let groups = try await crowd.group(with: [sender.id], in: world.postgres)
        let tally = Tally()
        let watchers = try await crowd.watch(ports: [world.port], group: world.threads, tally: tally)
        let reactor = Reactor(name: "bench")
        let database = try await Connection.open(await world.postgres.url(database: "postline"), on: reactor)
        let insert = Statement(
            "insert",
            """
            insert into public.messages (conversation_id, sender_id, content)
            select g, '\(sender.id)', '\(Watcher.markText) Shall we meet at the harbour at seven?'
              from unnest('{\(groups.joined(separator: ","))}'::uuid[]) g
            """)

        var table = ["Messages written by SQL into five groups, delivered to \(Self.watchers) connected members"]
        var best: (rate: Double, p99: Double) = (0, 0)
        for offer in Self.offers {
            tally.reset()
            for watcher in watchers { watcher.reset() }
            let sent = try await write(
                insert, over: database, each: .seconds(1) * Double(Self.watchers) / Double(offer))
            try await tally.reach(sent.count * Self.watchers)
            guard let first = sent.first else { break }
            let rate = Double(sent.count * Self.watchers) / ((tally.lastTime - first) / .seconds(1))
            var times: [Duration] = []
            for watcher in watchers { times += Self.times(sent, watcher.arrivals()) }
            let latencies = Percentiles(times)
            let p99 = latencies.milliseconds(99) ?? 0
            table.append(
                "  offered \(offer)/s: \(Int(rate))/s, from the statement p50 \(latencies.text(50)) ms, "
                    + "p99 \(latencies.text(99)) ms")
            say(table[table.count - 1])
            guard p99 < Self.bound, rate > Double(offer) * 0.95 else { break }
            best = (rate, p99)
        }
        await database.close()
        for watcher in watchers { watcher.close() }
        return (
            table,
            [
                BenchResult(name: "deliveries_per_second", value: best.rate, unit: "/s", goal: .atLeast(150_000)),
                BenchResult(name: "deliveries_p99_ms", value: best.p99, unit: "ms", goal: .below(Self.bound)),
            ]
        )
    }

    /// Writes at an even pace. A late write does not delay the next.
    ///
    /// - Returns: the time at which each was due.
    private func write(
        _ statement: Statement, over database: Connection, each interval: Duration
    ) async throws -> [ContinuousClock.Instant] {
        let start = ContinuousClock.now
        var due: [ContinuousClock.Instant] = []
        while true {
            let time = start + interval * due.count
            guard time < start + .seconds(seconds) else { return due }
            if time > .now { try await Task.sleep(until: time, clock: .continuous) }
            due.append(time)
            _ = try await database.run([Call(statement, [])], deadline: .seconds(10))
        }
    }

    /// Returns the latency of each change for one watcher, which receives them in order.
    private static func times(_ sent: [ContinuousClock.Instant], _ arrivals: [Watcher.Arrival]) -> [Duration] {
        var times: [Duration] = []
        var next = 0
        for arrival in arrivals {
            while next < min(arrival.count, sent.count) {
                times.append(arrival.time - sent[next])
                next += 1
            }
        }
        return times
    }
}
