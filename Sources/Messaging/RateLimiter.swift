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

    /// Takes a token, or tells how long it is until there is one.
    mutating func take(_ rate: Rate, now: ContinuousClock.Instant) -> Duration? {
        fill(rate, now)
        if level >= 1 {
            level -= 1
            return nil
        }
        return rate.interval * ((1 - level) / rate.tokens)
    }

    mutating func giveBack(_ rate: Rate) { level = min(rate.burst, level + 1) }

    /// Whether it is as one that was never used.
    mutating func isFull(_ rate: Rate, now: ContinuousClock.Instant) -> Bool {
        fill(rate, now)
        return level >= rate.burst
    }

    private mutating func fill(_ rate: Rate, _ now: ContinuousClock.Instant) {
        level = min(rate.burst, level + (now - filled) / rate.interval * rate.tokens)
        filled = now
    }
}

/// A token bucket for each key. Those that are full again are forgotten, so that memory follows the keys in use.
final class RateLimiter<Key: Hashable & Sendable>: Sendable {
    private struct State {
        var buckets: [Key: TokenBucket] = [:]
        var sweepAt = 1_024
    }

    private let rate: TokenBucket.Rate
    private let state = Mutex(State())

    init(_ rate: TokenBucket.Rate) { self.rate = rate }

    /// Takes a token of that key, or tells how long it is until there is one.
    func take(_ key: Key, now: ContinuousClock.Instant = .now) -> Duration? {
        state.withLock { state in
            if state.buckets.count >= state.sweepAt {
                state.buckets = state.buckets.filter { _, bucket in
                    var bucket = bucket
                    return !bucket.isFull(rate, now: now)
                }
                state.sweepAt = max(1_024, state.buckets.count * 2)
            }
            return state.buckets[key, default: TokenBucket(rate, now: now)].take(rate, now: now)
        }
    }

    /// What was taken is not counted after all.
    func giveBack(_ key: Key) {
        state.withLock { $0.buckets[key]?.giveBack(rate) }
    }

    /// How many keys are in use.
    var count: Int { state.withLock { $0.buckets.count } }
}
