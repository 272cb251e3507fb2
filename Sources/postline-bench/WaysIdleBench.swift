internal import TerminalText

/// The cost of an idle live session over each transport, in resident memory of the node.
struct WaysIdleBench {
    private static let sessions = 2_000

    let world: BenchWorld
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchFigure]) {
        say("making \(Self.sessions) guests …")
        let crowd = try await Crowd.make(Self.sessions, port: world.port, group: world.threads)
        var kibibytes: [WayIn: Double] = [:]
        for way in WayIn.allCases {
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
                + WayIn.allCases.map { way in
                    "  \(TextWidth.fit(way.name, to: 20)) \(BenchFigure.text(kibibytes[way] ?? 0, 1)) KiB"
                },
            [
                BenchFigure(name: "ws_idle_kib", value: kibibytes[.webSocket] ?? 0, unit: "KiB", goal: .below(12)),
                BenchFigure(name: "sse_idle_kib", value: kibibytes[.eventStream] ?? 0, unit: "KiB", goal: nil),
            ]
        )
    }
}
