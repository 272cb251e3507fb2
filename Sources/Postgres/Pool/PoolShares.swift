/// How much of a pool one owner of requests may take.
public struct PoolShare: Sendable, Hashable {
    /// The owner's requests that run at a time.
    public var mostRunning = 2
    /// The owner's requests that wait at a time; more are refused.
    public var mostWaiting = 256
    /// The time that the owner's requests may run in a second, on average.
    public var timePerSecond: Duration = .milliseconds(500)
    /// The time that they may run at once after a rest.
    public var burst: Duration = .seconds(5)

    /// The defaults.
    public init() {}
}

/// The connections that each owner of a pool's requests uses, and the rest of its budget of database time.
///
/// A budget may be overdrawn by the requests that run when it ends; the owner's next requests then wait until it is
/// positive again. An owner that has rested until its budget is full is forgotten.
struct PoolShares {
    typealias Instant = ContinuousClock.Instant

    private struct Usage {
        var running = 0
        var budget: Duration
        var updated: Instant
    }

    /// Nil: nothing is bounded.
    let share: PoolShare?
    private var usages: [String: Usage] = [:]
    private var sweepAt = 1_024

    init(_ share: PoolShare?) { self.share = share }

    /// The number of owners that are remembered.
    var count: Int { usages.count }

    /// Returns true if another request of the owner may start.
    func mayRun(_ owner: String?, now: Instant) -> Bool {
        guard let share, let owner, let usage = usages[owner] else { return true }
        return usage.running < share.mostRunning && budget(of: usage, share, now) > .zero
    }

    /// The time at which the owner's overdrawn budget is positive again; nil if only the end of a request, or nothing,
    /// is to be waited for.
    func readyAt(_ owner: String, now: Instant) -> Instant? {
        guard let share, let usage = usages[owner], usage.running < share.mostRunning else { return nil }
        let left = budget(of: usage, share, now)
        guard left <= .zero else { return nil }
        return now + .seconds(1) * ((.zero - left) / share.timePerSecond) + .milliseconds(1)
    }

    mutating func began(_ owner: String?, now: Instant) {
        guard let share, let owner else { return }
        if usages.count >= sweepAt { sweep(share, now) }
        usages[owner, default: Usage(budget: share.burst, updated: now)].running += 1
    }

    /// - Parameter duration: the time that counts against the budget.
    mutating func ended(_ owner: String?, after duration: Duration, now: Instant) {
        guard let share, let owner, var usage = usages[owner] else { return }
        usage.budget = budget(of: usage, share, now) - duration
        usage.updated = now
        usage.running -= 1
        usages[owner] = usage
    }

    private func budget(of usage: Usage, _ share: PoolShare, _ now: Instant) -> Duration {
        let rested = (now - usage.updated) / .seconds(1)
        return min(share.burst, usage.budget + share.timePerSecond * max(0, rested))
    }

    private mutating func sweep(_ share: PoolShare, _ now: Instant) {
        usages = usages.filter { $0.value.running > 0 || budget(of: $0.value, share, now) < share.burst }
        sweepAt = max(1_024, usages.count * 2)
    }
}
