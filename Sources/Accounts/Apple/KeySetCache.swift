import Postgres

/// A cache of a key set, without I/O: decides whether to use the cached set, fetch it again, or reject a key.
///
/// Anyone can send a token with an unknown key id, so the rate of fetches is bounded.
struct KeySetCache<Keys: Sendable>: Sendable {
    /// The intervals of fetches.
    struct Times: Sendable {
        /// The least time between two fetches while there is a set.
        var pause: Duration = .seconds(60)

        /// The time until a retry after a failed fetch while there is no set.
        var retry: Duration = .seconds(5)

        /// The time for which an expired set is used if it cannot be fetched again.
        var grace: Duration = .seconds(24 * 3_600)
    }

    enum Step {
        case use(Keys)
        case fetch
        /// The set is fresh and has no such key.
        case unknownKey
        /// There is no set, or it is too old to reject the key.
        case unavailable
    }

    private let times: Times
    private var cached: (keys: Keys, until: ContinuousClock.Instant?)?
    private var lastFetch: (at: ContinuousClock.Instant, failed: Bool)?

    init(_ times: Times = Times()) { self.times = times }

    /// True if the last fetch failed.
    var hasFailed: Bool { lastFetch?.failed == true }

    /// Returns what to do for a key.
    ///
    /// - Parameter hasKey: returns true if a set has the key.
    func step(at now: ContinuousClock.Instant, hasKey: (Keys) -> Bool) -> Step {
        guard let cached, cached.until.map({ now < $0 + times.grace }) ?? true else {
            return mayFetch(at: now, after: hasFailed ? times.retry : times.pause)
                ? .fetch : .unavailable
        }
        let isKnown = hasKey(cached.keys)
        if isKnown, cached.until.map({ now < $0 }) ?? true { return .use(cached.keys) }
        // A set without expiry never changes.
        if cached.until == nil { return .unknownKey }
        if mayFetch(at: now, after: times.pause) { return .fetch }
        if isKnown { return .use(cached.keys) }
        return hasFailed ? .unavailable : .unknownKey
    }

    /// Stores a fetched set.
    ///
    /// - Parameter lifetime: nil if the set never changes.
    mutating func recordFetch(_ keys: Keys, lifetime: Duration?, at now: ContinuousClock.Instant) {
        cached = (keys, lifetime.map { now + $0 })
        lastFetch = (now, failed: false)
    }

    /// Records a failed fetch.
    mutating func recordFailure(at now: ContinuousClock.Instant) {
        lastFetch = (now, failed: true)
    }

    private func mayFetch(at now: ContinuousClock.Instant, after pause: Duration) -> Bool {
        lastFetch.map { now >= $0.at + pause } ?? true
    }
}
