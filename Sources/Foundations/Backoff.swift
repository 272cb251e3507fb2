/// Exponential back-off with full jitter.
///
/// Each wait is drawn evenly from zero to a bound that doubles from `base` to `limit`, so that clients that lost the
/// same server do not all return at once.
package struct Backoff: Sendable, Hashable {
    /// The bound of the first wait.
    package let base: Duration
    /// The largest bound.
    package let limit: Duration
    /// The number of waits since the last `reset`.
    package private(set) var attempts = 0

    /// Creates a back-off.
    package init(base: Duration, limit: Duration) {
        precondition(base > .zero && limit >= base, "a back-off needs 0 < base <= limit")
        self.base = base
        self.limit = limit
    }

    /// The bound of the next wait.
    package var bound: Duration {
        // 2^20 times any sensible base exceeds any sensible limit; this avoids overflow.
        min(limit, base * (1 << min(attempts, 20)))
    }

    /// Returns a random next wait.
    package mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        // The 53 bits that a Double holds: from 0 up to, not including, 1. One number is enough of any generator.
        let wait = bound * (Double(generator.next() as UInt64 >> 11) * 0x1p-53)
        attempts += 1
        return wait
    }

    /// Returns a random next wait, by the system's generator.
    package mutating func next() -> Duration {
        var generator = SystemRandomNumberGenerator()
        return next(using: &generator)
    }

    /// Starts again at `base`, after a success.
    package mutating func reset() { attempts = 0 }
}
