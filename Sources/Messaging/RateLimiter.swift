internal import Synchronization

/// A token bucket: it fills at a steady rate up to its size, and each act takes a token out.
struct TokenBucket: Sendable {
    /// How fast it fills, and how much it holds.
    struct Rate: Sendable, Equatable {
        let tokens: Double
        let interval: Duration
        let burst: Double

        /// - Parameter burst: what may be taken at once; as many as fill in the interval, unless said otherwise.
        init(tokens: Double, per interval: Duration, burst: Double? = nil) {
            self.tokens = tokens
            self.interval = interval
            self.burst = burst ?? tokens
        }
    }

    private var level: Double
    private var filled: ContinuousClock.Instant

    init(_ rate: Rate, now: ContinuousClock.Instant) {
        level = rate.burst
        filled = now
    }

    /// Takes tokens, or returns how long it is until there are so many. If they are more than the bucket holds, they are
    /// there once it is full.
    mutating func take(_ rate: Rate, cost: Double = 1, now: ContinuousClock.Instant) -> Duration? {
        fill(rate, now)
        let needed = min(cost, rate.burst)
        if level >= needed {
            level -= cost
            return nil
        }
        return rate.interval * ((needed - level) / rate.tokens)
    }

    /// Takes tokens that may not be there yet, and returns how long it is until they are; nil if they are there.
    ///
    /// - Parameter longest: the longest wait. Where it would be longer nothing is taken, and more than it is returned.
    mutating func reserve(
        _ rate: Rate, cost: Double, longest: Duration, now: ContinuousClock.Instant
    ) -> Duration? {
        fill(rate, now)
        let wait = rate.interval * ((cost - level) / rate.tokens)
        if wait <= longest { level -= cost }
        return wait > .zero ? wait : nil
    }

    mutating func giveBack(_ rate: Rate) { level = min(rate.burst, level + 1) }

    /// How many tokens there are now.
    mutating func level(_ rate: Rate, now: ContinuousClock.Instant) -> Double {
        fill(rate, now)
        return level
    }

    private mutating func fill(_ rate: Rate, _ now: ContinuousClock.Instant) {
        level = min(rate.burst, level + (now - filled) / rate.interval * rate.tokens)
        filled = now
    }
}

/// A token bucket for each key. Those that are full again are forgotten, so that memory follows the keys in use; and
/// there are no more than so many: of more, the fuller half is forgotten, so that a flood of new keys does not wash
/// away those that have used up their share.
final class RateLimiter<Key: Hashable & Sendable>: Sendable {
    private struct State {
        var buckets: [Key: TokenBucket] = [:]
        var sweepAt = 1_024
    }

    private let rate: TokenBucket.Rate
    private let capacity: Int
    private let state = Mutex(State())

    /// - Parameter capacity: how many keys are counted at most.
    init(_ rate: TokenBucket.Rate, capacity: Int = 65_536) {
        self.rate = rate
        self.capacity = capacity
    }

    /// Takes tokens of that key, or returns how long it is until there are so many.
    func take(_ key: Key, cost: Double = 1, now: ContinuousClock.Instant = .now) -> Duration? {
        withBucket(of: key, now) { $0.take(rate, cost: cost, now: now) }
    }

    /// Takes tokens of that key, and returns how long their taker must wait; nil if it need not. If that is longer than
    /// the longest wait, nothing was taken.
    func reserve(
        _ key: Key, cost: Double, longest: Duration, now: ContinuousClock.Instant = .now
    ) -> Duration? {
        withBucket(of: key, now) { $0.reserve(rate, cost: cost, longest: longest, now: now) }
    }

    private func withBucket(
        of key: Key, _ now: ContinuousClock.Instant, _ body: (inout TokenBucket) -> Duration?
    ) -> Duration? {
        state.withLock { state in
            if state.buckets.count >= min(state.sweepAt, capacity) {
                sweep(&state.buckets, now)
                state.sweepAt = max(1_024, state.buckets.count * 2)
            }
            return body(&state.buckets[key, default: TokenBucket(rate, now: now)])
        }
    }

    /// What was taken is not counted after all.
    func giveBack(_ key: Key) {
        state.withLock { $0.buckets[key]?.giveBack(rate) }
    }

    /// How many keys are in use.
    var count: Int { state.withLock { $0.buckets.count } }

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
