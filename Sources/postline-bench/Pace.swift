import ChangeFeed

/// An even pace. A late operation does not delay the next, and none starts after the time is over.
struct Pace: Sendable {
    let interval: Duration
    let begin: ContinuousClock.Instant
    let end: ContinuousClock.Instant
    private var count = 0

    init(each interval: Duration, from begin: ContinuousClock.Instant, until end: ContinuousClock.Instant) {
        self.interval = interval
        self.begin = begin
        self.end = end
    }

    /// Waits until the next operation is due, and returns that time, or nil when the time is over.
    mutating func next() async throws -> ContinuousClock.Instant? {
        let due = begin + interval * count
        guard due < end else { return nil }
        if due > .now { try await Task.sleep(until: due, clock: .continuous) }
        let now = ContinuousClock.now
        guard now < end else { return nil }
        count += 1
        return now
    }
}
