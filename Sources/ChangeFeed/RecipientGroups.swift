/// Subscribers grouped by identical deltas.
///
/// Subscribers that have received the same changes of a batch so far are in one group. A group is a path through the
/// changes, stored as a tree of steps. So a change for a thousand subscribers costs a dictionary entry for each, and
/// its content is composed once for all.
struct RecipientGroups {
    typealias SubscriptionID = Fanout.SubscriptionID

    /// A change on a group's path, by its index in the batch.
    struct Step {
        let change: Int

        /// True if the change concerns the subscriber's own user.
        let isOwn: Bool
        fileprivate let parent: Int
    }

    /// The last step of each group: group `n` ends with `steps[n - 1]`. Group 0 has no steps.
    private var steps: [Step] = []
    private var groupOf: [SubscriptionID: Int] = [:]

    /// The group that each group becomes by the current change, for other users and for the user itself.
    private var transitions: (others: [Int: Int], own: [Int: Int]) = ([:], [:])
    private var change = -1

    /// The last transition, which mostly applies to the next subscriber too.
    private var last: (from: Int, to: Int, isOwn: Bool)?

    /// Adds a change to a subscriber's path. All subscribers of a change must be added before those of the next.
    mutating func add(_ change: Int, isOwn: Bool = false, to id: SubscriptionID) {
        if change != self.change {
            self.change = change
            transitions = ([:], [:])
            last = nil
        }
        let from = groupOf[id, default: 0]
        groupOf[id] = transition(from: from, isOwn: isOwn)
    }

    private mutating func transition(from: Int, isOwn: Bool) -> Int {
        if let last, last.from == from, last.isOwn == isOwn { return last.to }
        let to: Int
        if let known = isOwn ? transitions.own[from] : transitions.others[from] {
            to = known
        } else {
            steps.append(Step(change: change, isOwn: isOwn, parent: from))
            to = steps.count
            if isOwn { transitions.own[from] = to } else { transitions.others[from] = to }
        }
        last = (from, to, isOwn)
        return to
    }

    /// Reserves space for that many subscribers.
    mutating func reserveCapacity(_ count: Int) {
        if groupOf.capacity < count { groupOf.reserveCapacity(count) }
    }

    /// Returns the path and the subscribers of each group that is not empty.
    func all() -> [(steps: [Step], subscribers: [SubscriptionID])] {
        var subscribers: [[SubscriptionID]] = Array(repeating: [], count: steps.count + 1)
        for (id, group) in groupOf { subscribers[group].append(id) }
        return subscribers.indices.lazy.filter { !subscribers[$0].isEmpty }.map { (path($0), subscribers[$0]) }
    }

    private func path(_ group: Int) -> [Step] {
        var path: [Step] = []
        var next = group
        while next > 0 {
            path.append(steps[next - 1])
            next = steps[next - 1].parent
        }
        return path.reversed()
    }
}
