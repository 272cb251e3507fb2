/// HTTP compared with the line protocol: requests, fan-out, and the memory of idle sessions.
struct HTTPBench {
    let world: BenchWorld
    let seconds: Int
    let rounds: Int
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        var table: [String] = []
        var figures: [BenchResult] = []
        for part in [requests, fanOut, idle] {
            let (lines, found) = try await part()
            table += lines
            figures += found
        }
        return (table, figures)
    }

    private func requests() async throws -> (table: [String], figures: [BenchResult]) {
        try await HTTPRequestBench(world: world, seconds: seconds, rounds: rounds, say: say).run()
    }

    private func fanOut() async throws -> (table: [String], figures: [BenchResult]) {
        try await TransportFanoutBench(world: world, seconds: seconds, rounds: rounds, say: say).run()
    }

    private func idle() async throws -> (table: [String], figures: [BenchResult]) {
        try await TransportIdleBench(world: world, say: say).run()
    }
}
