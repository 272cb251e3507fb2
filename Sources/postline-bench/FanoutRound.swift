internal import LineClient

/// What came to all watchers of one change after another.
struct FanoutRound: Sendable {
    /// How many came, and in how many seconds.
    private let count: Int
    private let seconds: Double

    var perSecond: Double { Double(count) / seconds }

    /// From each change until the last watcher had it; exact where one is in flight.
    let times: [Duration]

    var text: String { "\(Int(perSecond))/s" }

    /// All of these together.
    init(_ parts: [FanoutRound]) {
        count = parts.reduce(0) { $0 + $1.count }
        seconds = parts.reduce(0) { $0 + $1.seconds }
        times = parts.flatMap(\.times)
    }

    private init(count: Int, seconds: Double, times: [Duration]) {
        self.count = count
        self.seconds = seconds
        self.times = times
    }

    /// What a profile is changed to, never twice the same: some 300 bytes as an object on the wire.
    static func text() -> String { "\(Watcher.markText) Change \(randomUUID())." }

    /// - Parameters:
    ///   - watchers: how many get each change.
    ///   - publish: makes the change of that number.
    static func run(
        _ watchers: Int, _ tally: Tally, inFlight: Int, for time: Duration,
        _ publish: @escaping @Sendable (Int) async throws -> Void
    ) async throws -> FanoutRound {
        tally.reset()
        let start = ContinuousClock.now
        var times: [Duration] = []
        var count = 0
        try await withThrowingTaskGroup(of: Void.self) { group in
            while ContinuousClock.now - start < time {
                let number = count
                let began = ContinuousClock.now
                group.addTask { try await publish(number) }
                count += 1
                if count >= inFlight {
                    try await tally.reach((count - inFlight + 1) * watchers)
                    times.append(tally.lastTime - began)
                }
            }
            try await group.waitForAll()
        }
        try await tally.reach(count * watchers)
        return FanoutRound(
            count: count * watchers, seconds: (tally.lastTime - start) / .seconds(1), times: inFlight == 1 ? times : [])
    }
}
