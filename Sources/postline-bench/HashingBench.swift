import LineClient
import NIOCore
import WireProtocol

/// The cost of sign-ins for readers: reads at a modest pace, without sign-ins and with twenty per second.
struct HashingBench {
    private static let readers = 4
    private static let loginsPerSecond = 20

    let world: BenchWorld
    let seconds: Int
    let rounds: Int
    let say: @Sendable (String) -> Void

    func run() async throws -> (table: [String], figures: [BenchResult]) {
        var readers: [(LineClient, String)] = []
        for pair in world.pairs.prefix(Self.readers) {
            readers.append((try await world.connect(pair.sender), pair.conversationID))
        }
        // Each client repeatedly signs in as the same user.
        var visitors: [(client: LineClient, email: String)] = []
        for number in 0..<min(Self.loginsPerSecond, world.pairs.count) {
            let client = try await LineClient.connect(host: "127.0.0.1", port: world.port, group: world.threads)
            visitors.append((client, "receiver\(number)@bench.example"))
        }
        var quiet: [Double] = []
        var busy: [Double] = []
        var ratios: [Double] = []
        for number in 1...rounds {
            let before = try await read(readers)
            let (during, logins) = try await readWhileOthersSignIn(readers, visitors)
            guard let calm = before.milliseconds(99), let storm = during.milliseconds(99) else { continue }
            quiet.append(calm)
            busy.append(storm)
            ratios.append(storm / calm)
            say(
                "round \(number): p99 of a read \(BenchResult.text(calm, 2)) ms, and "
                    + "\(BenchResult.text(storm, 2)) ms with \(logins / seconds) sign-ins a second")
        }
        let refusals = try await refusals(of: visitors)
        for (client, _) in readers + visitors { await client.close() }
        return (
            [
                "Reads of the 50 newest messages by \(readers.count) who pause between, \(rounds) rounds of \(seconds) s each",
                "  alone:                    p99 \(BenchResult.text(median(quiet) ?? 0, 2)) ms",
                "  beside \(Self.loginsPerSecond) sign-ins a second: p99 \(BenchResult.text(median(busy) ?? 0, 2)) ms",
            ],
            [
                BenchResult(name: "list_p99_logins", value: median(ratios) ?? 0, unit: "ratio", goal: .below(2)),
                BenchResult(name: "unknown_to_wrong", value: refusals, unit: "ratio", goal: nil),
            ]
        )
    }

    /// Returns the ratio of the refusal times of an unknown address and a wrong password. It should reveal nothing.
    private func refusals(of visitors: [(client: LineClient, email: String)]) async throws -> Double {
        guard let visitor = visitors.first else { return 0 }
        func time(_ email: String) async throws -> Double {
            let start = ContinuousClock.now
            do {
                _ = try await visitor.client.call(
                    "auth.login", ["email": .string(email), "password": JSON.string("wrong")])
            } catch let error as RemoteError where error.code == ErrorCode.invalidCredentials.rawValue {
                return (ContinuousClock.now - start) / .milliseconds(1)
            }
            throw BenchError("A wrong password was taken.")
        }
        var wrong: [Double] = []
        var unknown: [Double] = []
        for _ in 0..<20 {
            wrong.append(try await time(visitor.email))
            unknown.append(try await time("nobody@bench.example"))
        }
        return (median(unknown) ?? 0) / (median(wrong) ?? 1)
    }

    private func readWhileOthersSignIn(
        _ readers: [(LineClient, String)], _ visitors: [(client: LineClient, email: String)]
    ) async throws -> (Percentiles, Int) {
        try await withThrowingTaskGroup(of: Int.self) { group in
            let end = ContinuousClock.now + .seconds(seconds)
            for (number, visitor) in visitors.enumerated() {
                group.addTask {
                    try await Self.signIn(visitor.client, visitor.email, until: end, after: number, of: visitors.count)
                }
            }
            let latencies = try await read(readers)
            var logins = 0
            for try await count in group { logins += count }
            return (latencies, logins)
        }
    }

    /// Signs in at a steady pace until the time is over, as one of `count` clients that take turns.
    private static func signIn(
        _ client: LineClient, _ email: String, until end: ContinuousClock.Instant, after number: Int, of count: Int
    ) async throws -> Int {
        let turn = Duration.seconds(1) / loginsPerSecond
        var next = ContinuousClock.now + turn * number
        var logins = 0
        while next < end {
            try await Task.sleep(until: next)
            _ = try await client.call(
                "auth.login", ["email": .string(email), "password": .string(BenchWorld.password)])
            logins += 1
            next += turn * count
        }
        return logins
    }

    private func read(_ readers: [(LineClient, String)]) async throws -> Percentiles {
        try await withThrowingTaskGroup(of: [Duration].self) { group in
            let end = ContinuousClock.now + .seconds(seconds)
            for (client, conversationID) in readers {
                group.addTask {
                    var latencies: [Duration] = []
                    while ContinuousClock.now < end {
                        try await Task.sleep(for: .microseconds(Int.random(in: 5_000...15_000)))
                        let start = ContinuousClock.now
                        _ = try await client.call(
                            "messages.list", ["conversation_id": .string(conversationID), "limit": .integer(50)])
                        latencies.append(ContinuousClock.now - start)
                    }
                    return latencies
                }
            }
            var all: [Duration] = []
            for try await some in group { all += some }
            return Percentiles(all)
        }
    }
}
