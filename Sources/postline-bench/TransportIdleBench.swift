import Foundations

/// The cost of an idle live session over each transport, in resident memory of the node.
struct TransportIdleBench {
    private static let sessions = 2_000

    let world: BenchWorld
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        say("making \(Self.sessions) guests …")
        let crowd = try await GuestCrowd.make(Self.sessions, port: world.port, group: world.threads)
        var kibibytes: [Transport: Double] = [:]
        for way in Transport.allCases {
            // A node for each: memory freed by one transport would be reused by the next.
            try await BenchNode.run(on: world.postgres, secret: world.secret) { ports in
                let before = try await OperationsClient.figure(OperationsClient.memory, port: ports.operations)
                let watchers = try await crowd.watch(
                    ports: [way.port(of: ports)], by: way, group: world.threads, tally: Tally())
                let after = try await OperationsClient.figure(OperationsClient.memory, port: ports.operations)
                kibibytes[way] = (after - before) / 1_024 / Double(Self.sessions)
                for watcher in watchers { watcher.close() }
            }
        }
        return (
            ["\(Self.sessions) idle live sessions, resident memory each"]
                + Transport.allCases.map { way in
                    "  \(TextWidth.fit(way.name, to: 20)) \(BenchResult.text(kibibytes[way] ?? 0, 1)) KiB"
                },
            [
                BenchResult(name: "ws_idle_kib", value: kibibytes[.webSocket] ?? 0, unit: "KiB", goal: .below(12)),
                BenchResult(name: "sse_idle_kib", value: kibibytes[.eventStream] ?? 0, unit: "KiB", goal: nil),
            ]
        )
    }
}
