internal import NIOCore

/// Those who wait for their turn, in the order in which they came, each for so long and no longer.
struct WaitingQueue<Waiter> {
    private let waitTimeout: Duration
    private var entries = CircularBuffer<(until: ContinuousClock.Instant, waiter: Waiter)>()

    init(waitTimeout: Duration) { self.waitTimeout = waitTimeout }

    var count: Int { entries.count }

    mutating func append(_ waiter: Waiter) { entries.append((.now + waitTimeout, waiter)) }

    /// Takes out those who have waited too long. They came before all others.
    mutating func popLate() -> [Waiter] {
        let now = ContinuousClock.now
        return popFirst(entries.prefix { $0.until < now }.count)
    }

    /// Takes out as many as there are of so many, from the first on.
    mutating func popFirst(_ most: Int) -> [Waiter] {
        let first = entries.prefix(most).map(\.waiter)
        entries.removeFirst(first.count)
        return first
    }

    /// Takes out the first of those whose turn it may be, so many at most; the others keep their places.
    mutating func popFirst(_ most: Int, where mayBeNext: (Waiter) -> Bool) -> [Waiter] {
        var first: [Waiter] = []
        var others = CircularBuffer<(until: ContinuousClock.Instant, waiter: Waiter)>()
        while first.count < most, let entry = entries.popFirst() {
            if mayBeNext(entry.waiter) { first.append(entry.waiter) } else { others.append(entry) }
        }
        if !others.isEmpty { entries = others + entries }
        return first
    }

    mutating func popFirst() -> Waiter? { entries.popFirst()?.waiter }
}
