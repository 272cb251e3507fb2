/// What to do about a key: use the set that is there, fetch another, or refuse.
///
/// A value without I/O. Whoever names a key that nobody has makes the set be fetched, so that this is bounded in time.
struct KeySetCache<Keys: Sendable>: Sendable {
    /// When sets are fetched.
    struct Times: Sendable {
        /// Between two fetches while there is a set, at least.
        var pause: Duration = .seconds(60)

        /// After a fetch that failed, while there is none.
        var retry: Duration = .seconds(5)

        /// For how long a set that should be fetched anew is used where it cannot be.
        var grace: Duration = .seconds(24 * 3_600)
    }

    enum Step {
        case use(Keys)
        case fetch
        /// The set is fresh and has no such key.
        case unknownKey
        /// There is no set, or none that is fresh enough to say so.
        case unavailable
    }

    private let times: Times
    private var kept: (keys: Keys, until: ContinuousClock.Instant?)?
    private var lastFetch: (at: ContinuousClock.Instant, failed: Bool)?

    init(_ times: Times = Times()) { self.times = times }

    /// Whether the last fetch brought nothing.
    var hasFailed: Bool { lastFetch?.failed == true }

    /// - Parameter hasKey: whether a set has the key that is needed.
    func step(at now: ContinuousClock.Instant, hasKey: (Keys) -> Bool) -> Step {
        guard let kept, kept.until.map({ now < $0 + times.grace }) ?? true else {
            return mayFetch(at: now, after: hasFailed ? times.retry : times.pause)
                ? .fetch : .unavailable
        }
        let isKnown = hasKey(kept.keys)
        if isKnown, kept.until.map({ now < $0 }) ?? true { return .use(kept.keys) }
        // What is read once and for good has no other keys.
        if kept.until == nil { return .unknownKey }
        if mayFetch(at: now, after: times.pause) { return .fetch }
        if isKnown { return .use(kept.keys) }
        return hasFailed ? .unavailable : .unknownKey
    }

    /// A fetch brought this.
    mutating func fetched(_ keys: Keys, lifetime: Duration?, at now: ContinuousClock.Instant) {
        kept = (keys, lifetime.map { now + $0 })
        lastFetch = (now, failed: false)
    }

    /// A fetch brought nothing.
    mutating func failed(at now: ContinuousClock.Instant) {
        lastFetch = (now, failed: true)
    }

    private func mayFetch(at now: ContinuousClock.Instant, after pause: Duration) -> Bool {
        lastFetch.map { now >= $0.at + pause } ?? true
    }
}
