/// How long to wait before the next attempt: exponential with full jitter.
///
/// Each wait is drawn evenly from zero to a bound that doubles from `base` to `limit`, so that many who lost the same
/// server at once do not come back at once.
public struct Backoff: Sendable, Hashable {
    /// The bound of the first wait.
    public let base: Duration
    /// The bound that is never passed.
    public let limit: Duration
    /// How many waits were drawn since the last `reset`.
    public private(set) var attempts = 0

    /// A back-off that has not waited yet.
    public init(base: Duration, limit: Duration) {
        precondition(base > .zero && limit >= base, "a back-off needs 0 < base <= limit")
        self.base = base
        self.limit = limit
    }

    /// The bound of the next wait.
    public var bound: Duration {
        // 2^20 times any base that makes sense is past any limit that does; beyond it only the overflow is left.
        min(limit, base * (1 << min(attempts, 20)))
    }

    /// Draws the next wait.
    public mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
        // The 53 bits that a Double holds: from 0 up to, not including, 1. One number is enough of any generator.
        let wait = bound * (Double(generator.next() as UInt64 >> 11) * 0x1p-53)
        attempts += 1
        return wait
    }

    /// Draws the next wait by the system's generator.
    public mutating func next() -> Duration {
        var generator = SystemRandomNumberGenerator()
        return next(using: &generator)
    }

    /// Begins again at `base`: what was waited for has come.
    public mutating func reset() { attempts = 0 }
}
