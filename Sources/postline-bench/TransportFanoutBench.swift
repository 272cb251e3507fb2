import Foundations
import LineClient
import WireProtocol

/// One change to a thousand connected members over each transport, alternating: the same members, with new connections
/// for each round.
struct TransportFanoutBench {
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
        var clients: [LineClient] = []
        for owner in owners { clients.append(try await world.connect(owner)) }
        var rates: [Transport: [Double]] = [:]
        for number in 1...rounds {
            for way in Transport.allCases {
                let rate = try await round(way, crowd, clients).perSecond
                rates[way, default: []].append(rate)
                say("round \(number): \(Int(rate)) deliveries/s by \(way.name)")
            }
        }
        for client in clients { await client.close() }

        func ratio(_ way: Transport) -> Double {
            median(zip(rates[way] ?? [], rates[.line] ?? []).map { $0 / $1 }) ?? 0
        }
        return (
            [
                "Changes to \(Self.watchers) connected members by each way in, \(Self.inFlight) in flight, "
                    + "\(rounds) rounds of \(seconds) s each in turn"
            ]
                + Transport.allCases.map { way in
                    "  \(TextWidth.fit(way.name, to: 20)) \(Int(median(rates[way] ?? []) ?? 0)) deliveries/s"
                },
            [
                BenchResult(name: "ws_fanout_ratio", value: ratio(.webSocket), unit: "ratio", goal: .atLeast(0.8)),
                BenchResult(name: "sse_fanout_ratio", value: ratio(.eventStream), unit: "ratio", goal: .atLeast(0.8)),
            ]
        )
    }

    private func round(_ way: Transport, _ crowd: GuestCrowd, _ clients: [LineClient]) async throws -> FanoutRound {
        let tally = Tally()
        let watchers = try await crowd.watch(
            ports: [way == .line ? world.port : world.httpPort], by: way, group: world.threads, tally: tally)
        let change: @Sendable (Int) async throws -> Void = { number in
            _ = try await clients[number % clients.count].call("me.update", ["bio": .string(FanoutRound.text())])
        }
        _ = try await FanoutRound.run(Self.watchers, tally, inFlight: 1, for: .seconds(1), change)
        let round = try await FanoutRound.run(
            Self.watchers, tally, inFlight: Self.inFlight, for: .seconds(seconds), change)
        for watcher in watchers { watcher.close() }
        return round
    }
}
