/// The share of a pool that one owner may use.
package struct PoolShare: Sendable, Hashable {
    /// The maximum number of running requests.
    package var maxRunning = 2
    /// The maximum number of waiting requests; more are rejected.
    package var maxWaiting = 256
    /// The database time per second, on average.
    package var timePerSecond: Duration = .milliseconds(500)
    /// The database time available at once after a rest.
    package var burst: Duration = .seconds(5)

    /// The defaults.
    package init() {}
}

/// The use of a pool by each owner, and the rest of its budget of database time.
///
/// Requests that run when a budget ends may overdraw it; the owner's next requests wait until it is positive again. An
/// owner is forgotten once its budget is full.
struct PoolShares {
    typealias Instant = ContinuousClock.Instant

    private struct Usage {
        var running = 0
        var budget: Duration
        var updated: Instant
    }

    /// The share, or nil for no limit.
    let share: PoolShare?
    private var usages: [String: Usage] = [:]
    private var sweepAt = 1_024

    init(_ share: PoolShare?) { self.share = share }

    /// The number of tracked owners.
    var count: Int { usages.count }

    /// Returns true if another request of the owner may start.
    func mayRun(_ owner: String?, now: Instant) -> Bool {
        guard let share, let owner, let usage = usages[owner] else { return true }
        return usage.running < share.maxRunning && budget(of: usage, share, now) > .zero
    }

    /// Returns the time at which an overdrawn budget is positive again, or nil if the owner waits only for a request to
    /// end, or for nothing.
    func readyAt(_ owner: String, now: Instant) -> Instant? {
        guard let share, let usage = usages[owner], usage.running < share.maxRunning else { return nil }
        let left = budget(of: usage, share, now)
        guard left <= .zero else { return nil }
        return now + .seconds(1) * ((.zero - left) / share.timePerSecond) + .milliseconds(1)
    }

    mutating func began(_ owner: String?, now: Instant) {
        guard let share, let owner else { return }
        if usages.count >= sweepAt { sweep(share, now) }
        usages[owner, default: Usage(budget: share.burst, updated: now)].running += 1
    }

    /// - Parameter duration: the time charged to the budget.
    mutating func ended(_ owner: String?, after duration: Duration, now: Instant) {
        guard let share, let owner, var usage = usages[owner] else { return }
        usage.budget = budget(of: usage, share, now) - duration
        usage.updated = now
        usage.running -= 1
        usages[owner] = usage
    }

    private func budget(of usage: Usage, _ share: PoolShare, _ now: Instant) -> Duration {
        let elapsed = (now - usage.updated) / .seconds(1)
        return min(share.burst, usage.budget + share.timePerSecond * max(0, elapsed))
    }

    private mutating func sweep(_ share: PoolShare, _ now: Instant) {
        usages = usages.filter { $0.value.running > 0 || budget(of: $0.value, share, now) < share.burst }
        sweepAt = max(1_024, usages.count * 2)
    }
}
