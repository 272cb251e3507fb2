import Synchronization

/// A token bucket: it fills at a steady rate up to its capacity, and each action takes tokens.
package struct TokenBucket: Sendable {
    /// The fill rate and capacity of a bucket.
    package struct Rate: Sendable, Equatable {
        package let tokens: Double
        package let interval: Duration
        package let burst: Double

        /// - Parameter burst: the capacity; by default the tokens of one interval.
        package init(tokens: Double, per interval: Duration, burst: Double? = nil) {
            self.tokens = tokens
            self.interval = interval
            self.burst = burst ?? tokens
        }
    }

    private var level: Double
    private var filled: ContinuousClock.Instant

    package init(_ rate: Rate, now: ContinuousClock.Instant) {
        level = rate.burst
        filled = now
    }

    /// Takes tokens, or takes nothing and returns the time until there are enough. A full bucket allows any cost.
    package mutating func take(_ rate: Rate, cost: Double = 1, now: ContinuousClock.Instant) -> Duration? {
        fill(rate, now)
        let needed = min(cost, rate.burst)
        if level >= needed {
            level -= cost
            return nil
        }
        return rate.interval * ((needed - level) / rate.tokens)
    }

    /// Takes tokens in advance.
    ///
    /// - Parameter maxWait: the longest wait. Nothing is taken if the wait would be longer.
    /// - Returns: the time until the tokens are available, or nil if they are already.
    package mutating func reserve(
        _ rate: Rate, cost: Double, maxWait: Duration, now: ContinuousClock.Instant
    ) -> Duration? {
        fill(rate, now)
        let wait = rate.interval * ((cost - level) / rate.tokens)
        if wait <= maxWait { level -= cost }
        return wait > .zero ? wait : nil
    }

    /// Returns a token.
    package mutating func giveBack(_ rate: Rate) { level = min(rate.burst, level + 1) }

    /// Returns the number of tokens.
    package mutating func level(_ rate: Rate, now: ContinuousClock.Instant) -> Double {
        fill(rate, now)
        return level
    }

    private mutating func fill(_ rate: Rate, _ now: ContinuousClock.Instant) {
        level = min(rate.burst, level + (now - filled) / rate.interval * rate.tokens)
        filled = now
    }
}

/// A token bucket for each key.
///
/// Full buckets are removed, so that memory follows the keys in use. Beyond the capacity the fuller half is removed, so
/// that a flood of new keys does not reset exhausted ones.
package final class RateLimiter<Key: Hashable & Sendable>: Sendable {
    private struct State {
        var buckets: [Key: TokenBucket] = [:]
        var sweepThreshold = 1_024
    }

    private let rate: TokenBucket.Rate
    private let capacity: Int
    private let state = Mutex(State())

    /// - Parameter capacity: the most keys.
    package init(_ rate: TokenBucket.Rate, capacity: Int = 65_536) {
        self.rate = rate
        self.capacity = capacity
    }

    /// Takes tokens of a key, or takes nothing and returns the time until there are enough.
    package func take(_ key: Key, cost: Double = 1, now: ContinuousClock.Instant = .now) -> Duration? {
        withBucket(of: key, now) { $0.take(rate, cost: cost, now: now) }
    }

    /// Takes tokens of a key in advance.
    ///
    /// - Returns: the time until the tokens are available, or nil if they are already. If it is longer than `maxWait`,
    ///   nothing was taken.
    package func reserve(
        _ key: Key, cost: Double, maxWait: Duration, now: ContinuousClock.Instant = .now
    ) -> Duration? {
        withBucket(of: key, now) { $0.reserve(rate, cost: cost, maxWait: maxWait, now: now) }
    }

    private func withBucket(
        of key: Key, _ now: ContinuousClock.Instant, _ body: (inout TokenBucket) -> Duration?
    ) -> Duration? {
        state.withLock { state in
            if state.buckets.count >= min(state.sweepThreshold, capacity) {
                sweep(&state.buckets, now)
                state.sweepThreshold = max(1_024, state.buckets.count * 2)
            }
            return body(&state.buckets[key, default: TokenBucket(rate, now: now)])
        }
    }

    /// Returns a token of a key.
    package func giveBack(_ key: Key) {
        state.withLock { $0.buckets[key]?.giveBack(rate) }
    }

    /// The number of keys.
    package var count: Int { state.withLock { $0.buckets.count } }

    private func sweep(_ buckets: inout [Key: TokenBucket], _ now: ContinuousClock.Instant) {
        var levels: [(key: Key, level: Double)] = []
        for (key, bucket) in buckets {
            var bucket = bucket
            levels.append((key, bucket.level(rate, now: now)))
        }
        levels.removeAll { $0.level >= rate.burst }
        if levels.count >= capacity {
            levels.sort { $0.level < $1.level }
            levels.removeLast(levels.count - capacity / 2)
        }
        let kept = Set(levels.map(\.key))
        buckets = buckets.filter { kept.contains($0.key) }
    }
}
