import NIOCore
import Postgres

/// A first-in, first-out queue with a maximum wait.
package struct WaitingQueue<Waiter> {
    private let waitTimeout: Duration
    private var entries = CircularBuffer<(until: ContinuousClock.Instant, waiter: Waiter)>()

    package init(waitTimeout: Duration) { self.waitTimeout = waitTimeout }

    package var count: Int { entries.count }

    package mutating func append(_ waiter: Waiter) { entries.append((.now + waitTimeout, waiter)) }

    /// Removes and returns elements that have waited too long, which are the first.
    package mutating func popLate() -> [Waiter] {
        let now = ContinuousClock.now
        return popFirst(entries.prefix { $0.until < now }.count)
    }

    /// Removes and returns up to `most` elements from the front.
    package mutating func popFirst(_ most: Int) -> [Waiter] {
        let first = entries.prefix(most).map(\.waiter)
        entries.removeFirst(first.count)
        return first
    }

    /// Removes and returns up to `most` matching elements; the others keep their places.
    package mutating func popFirst(_ most: Int, where mayBeNext: (Waiter) -> Bool) -> [Waiter] {
        var first: [Waiter] = []
        var others = CircularBuffer<(until: ContinuousClock.Instant, waiter: Waiter)>()
        while first.count < most, let entry = entries.popFirst() {
            if mayBeNext(entry.waiter) { first.append(entry.waiter) } else { others.append(entry) }
        }
        if !others.isEmpty { entries = others + entries }
        return first
    }

    package mutating func popFirst() -> Waiter? { entries.popFirst()?.waiter }
}
