import Foundations

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

/// The use of a pool by each owner and each group of owners, and the rest of each owner's budget of database time.
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

    /// The number of the pool's connections.
    private let size: Int

    /// The usages by the owner's id: a user has one share at all addresses.
    private var usages: [String: Usage] = [:]

    /// The running requests of groups that have any.
    private var runningByGroup: [RequestOwner.Group: Int] = [:]
    private var sweepAt = 1_024

    init(_ share: PoolShare?, size: Int) {
        self.share = share
        self.size = size
    }

    /// The number of tracked owners.
    var count: Int { usages.count }

    /// Returns true if another request of the owner may start.
    func mayRun(_ owner: RequestOwner?, now: Instant) -> Bool {
        guard let owner else { return true }
        return mayRun(owner.group) && isWithinShare(owner, now: now)
    }

    /// Returns true if another request of the group may start.
    func mayRun(_ group: RequestOwner.Group) -> Bool {
        guard let running = runningByGroup[group] else { return true }
        return running < maxRunning(of: group)
    }

    /// Returns true if the owner has a running request less than its share, and a positive budget.
    func isWithinShare(_ owner: RequestOwner, now: Instant) -> Bool {
        guard let share, let usage = usages[owner.id] else { return true }
        return usage.running < share.maxRunning && budget(of: usage, share, now) > .zero
    }

    /// Returns the most connections for the users, and for the guests, of one address. The rest is for other addresses.
    private func maxRunning(of group: RequestOwner.Group) -> Int {
        switch group {
        case .users: max(2, size * 3 / 4)
        case .guests: max(2, size / 4)
        case .alone: size
        }
    }

    /// Returns the time at which an overdrawn budget is positive again, or nil if the owner waits only for a request to
    /// end, or for nothing.
    func readyAt(_ owner: RequestOwner, now: Instant) -> Instant? {
        guard let share, let usage = usages[owner.id], usage.running < share.maxRunning else { return nil }
        let left = budget(of: usage, share, now)
        guard left <= .zero else { return nil }
        return now + .seconds(1) * ((.zero - left) / share.timePerSecond) + .milliseconds(1)
    }

    mutating func began(_ owner: RequestOwner?, now: Instant) {
        guard let share, let owner else { return }
        if usages.count >= sweepAt { sweep(share, now) }
        usages[owner.id, default: Usage(budget: share.burst, updated: now)].running += 1
        runningByGroup[owner.group, default: 0] += 1
    }

    /// - Parameter duration: the time charged to the budget.
    mutating func ended(_ owner: RequestOwner?, after duration: Duration, now: Instant) {
        guard let share, let owner, var usage = usages[owner.id] else { return }
        runningByGroup.subtract(from: owner.group)
        usage.budget = budget(of: usage, share, now) - duration
        usage.updated = now
        usage.running -= 1
        usages[owner.id] = usage
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
