import Foundations
import LineClient
import NIOCore
import PrivatePostgres
import WireProtocol

/// One change to a thousand connected members, compared with `nats-server` and an event of the same size.
///
/// Both have the same watchers on the same machine. One change in flight shows the latency of a fan-out, eight show the
/// deliveries per second.
struct FanoutBench {
    private static let watchers = 1_000
    private static let inFlight = 8
    /// Twice the number in flight, since two changes of one profile in one poll would be merged.
    private static let owners = 16

    let world: BenchWorld
    let seconds: Int
    let rounds: Int
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        let owners = Array(world.pairs.prefix(Self.owners).map(\.sender))
        guard owners.count == Self.owners else { throw BenchError("There are too few people.") }
        say("making \(Self.watchers) contacts …")
        let crowd = try await GuestCrowd.make(Self.watchers, port: world.port, group: world.threads)
        _ = try await crowd.group(with: owners.map(\.id), in: world.postgres)
        let tally = Tally()
        let watchers = try await crowd.watch(ports: [world.port], group: world.threads, tally: tally)
        var clients: [LineClient] = []
        for owner in owners { clients.append(try await world.connect(owner)) }

        var ours: [(single: FanoutRound, many: FanoutRound)] = []
        var theirs: [(single: FanoutRound, many: FanoutRound)] = []
        try await NatsServer.run { port in
            let natsTally = Tally()
            var subscribers: [Watcher] = []
            for _ in 0..<Self.watchers {
                subscribers.append(
                    try await Watcher.connect(
                        port: port, group: world.threads,
                        saying: "CONNECT {\"verbose\":false}\r\nSUB change 1\r\nPING\r\n",
                        // INFO and PONG.
                        until: .lines(2), tally: natsTally))
            }
            let publisher = try await Publisher.connect(port: port, group: world.threads)
            let change: @Sendable (Int) async throws -> Void = { [clients] number in
                _ = try await clients[number % clients.count].call("me.update", ["bio": .string(FanoutRound.text())])
            }
            let event: @Sendable (Int) async throws -> Void = { _ in try await publisher.publish(Self.event()) }
            _ = try await fanOut(tally, inFlight: 1, for: .seconds(1), change)
            _ = try await fanOut(natsTally, inFlight: 1, for: .seconds(1), event)
            for number in 1...rounds {
                let round = try await inTurns(
                    { try await fanOut(tally, inFlight: $0, for: $1, change) },
                    { try await fanOut(natsTally, inFlight: $0, for: $1, event) })
                ours.append(round.ours)
                theirs.append(round.theirs)
                say(
                    "round \(number): postline \(ours[number - 1].many.text), nats-server \(theirs[number - 1].many.text)"
                )
            }
            await publisher.close()
            for subscriber in subscribers { subscriber.close() }
        }
        for watcher in watchers { watcher.close() }
        for client in clients { await client.close() }

        func row(_ name: String, _ results: [FanoutRound]) -> String {
            let times = Percentiles(results.flatMap(\.times))
            let rate = median(results.map(\.perSecond)) ?? 0
            let text = "  \(TextWidth.fit(name, to: 28)) \(Int(rate)) deliveries/s"
            if times.count == 0 { return text }
            return text + "; until the last has it: p50 \(times.text(50)) ms, p99 \(times.text(99)) ms"
        }
        let ratio = median(zip(ours, theirs).map { $0.many.perSecond / $1.many.perSecond }) ?? 0
        let single = median(zip(ours, theirs).map { $0.single.perSecond / $1.single.perSecond }) ?? 0
        func timesRatio(_ percent: Double) -> Double {
            (Percentiles(ours.flatMap(\.single.times)).milliseconds(percent) ?? 0)
                / (Percentiles(theirs.flatMap(\.single.times)).milliseconds(percent) ?? .infinity)
        }
        return (
            [
                "Changes to \(Self.watchers) connected members, \(rounds) rounds of \(seconds * 2) s each in turn",
                row("postline, one in flight", ours.map(\.single)),
                row("nats-server, one in flight", theirs.map(\.single)),
                row("postline, \(Self.inFlight) in flight", ours.map(\.many)),
                row("nats-server, \(Self.inFlight) in flight", theirs.map(\.many)),
            ],
            [
                BenchResult(name: "fanout_ratio_nats", value: ratio, unit: "ratio", goal: .atLeast(1)),
                BenchResult(name: "fanout_ratio_single", value: single, unit: "ratio", goal: .atLeast(0.8)),
                BenchResult(name: "fanout_p50_ratio", value: timesRatio(50), unit: "ratio", goal: .below(1.3)),
                BenchResult(name: "fanout_p99_ratio", value: timesRatio(99), unit: "ratio", goal: .below(1)),
                BenchResult(
                    name: "fanout_p99_ms", value: Percentiles(ours.flatMap(\.single.times)).milliseconds(99) ?? 0,
                    unit: "ms", goal: nil),
            ]
        )
    }

    /// Runs a round of both sides in many short turns, since the speed of a shared machine changes within seconds.
    private func inTurns(
        _ ours: (Int, Duration) async throws -> FanoutRound, _ theirs: (Int, Duration) async throws -> FanoutRound
    ) async throws -> (ours: (single: FanoutRound, many: FanoutRound), theirs: (single: FanoutRound, many: FanoutRound))
    {
        let turns = seconds * 2
        let turn = Duration.seconds(seconds) / 2 / turns
        // There are eighty per second, and the 99th percentile needs some seconds more.
        let singleTurn = turn * 3
        var single: (ours: [FanoutRound], theirs: [FanoutRound]) = ([], [])
        var many: (ours: [FanoutRound], theirs: [FanoutRound]) = ([], [])
        for _ in 1...turns {
            single.ours.append(try await ours(1, singleTurn))
            single.theirs.append(try await theirs(1, singleTurn))
        }
        for _ in 1...turns {
            many.ours.append(try await ours(Self.inFlight, turn))
            many.theirs.append(try await theirs(Self.inFlight, turn))
        }
        return (
            (FanoutRound(single.ours), FanoutRound(many.ours)), (FanoutRound(single.theirs), FanoutRound(many.theirs))
        )
    }

    /// Returns an event of 300 bytes.
    private static func event() -> String {
        let text = FanoutRound.text()
        return text + String(repeating: "x", count: 300 - text.utf8.count)
    }

    private func fanOut(
        _ tally: Tally, inFlight: Int, for time: Duration, _ publish: @escaping @Sendable (Int) async throws -> Void
    ) async throws -> FanoutRound {
        try await FanoutRound.run(Self.watchers, tally, inFlight: inFlight, for: time, publish)
    }
}
