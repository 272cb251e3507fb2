import LineClient

/// The deliveries of a sequence of changes to all watchers.
struct FanoutRound: Sendable {
    /// The number of deliveries, and the seconds.
    private let count: Int
    private let seconds: Double

    var perSecond: Double { Double(count) / seconds }

    /// The time from each change until the last watcher has it; exact with one in flight.
    let times: [Duration]

    var text: String { "\(Int(perSecond))/s" }

    /// Combines rounds.
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

    /// Returns a new profile text, never the same twice; about 300 bytes as an object on the wire.
    static func text() -> String { "\(Watcher.markText) Change \(randomUUID())." }

    /// - Parameters:
    ///   - watchers: the number of receivers of each change.
    ///   - publish: makes the change with that number.
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
