/// Which changes of a look each subscriber gets.
///
/// Subscribers who got the same of it so far are on one *course*, a path through the changes. So what a thousand get
/// alike is noted once for each of them and put together once for all.
struct RecipientGroups {
    typealias SubscriptionID = Fanout.SubscriptionID

    /// A change on the way, by its place in the look.
    struct Step {
        let change: Int

        /// Whether it is about the subscriber's own user.
        let isOwn: Bool
        fileprivate let parent: Int
    }

    /// The last steps of the courses; the course of that number ends with the one before it. Number 0 has none.
    private var steps: [Step] = []
    private var groupOf: [SubscriptionID: Int] = [:]

    /// Where a course leads to by the change that is given now: for others, and for the own user.
    private var transitions: (others: [Int: Int], own: [Int: Int]) = ([:], [:])
    private var change = -1

    /// The way that was gone last: most often it is the next one's too.
    private var last: (from: Int, to: Int, isOwn: Bool)?

    /// Gives a subscriber a change. All that get one get it before anybody gets a later one.
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

    /// There will be about so many subscribers.
    mutating func reserveCapacity(_ count: Int) {
        if groupOf.capacity < count { groupOf.reserveCapacity(count) }
    }

    /// The courses, each with those who are on it.
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
