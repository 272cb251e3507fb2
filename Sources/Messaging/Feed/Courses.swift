/// Which changes of a look each subscriber gets.
///
/// Subscribers who got the same of it so far are on one *course*, a path through the changes. So what a thousand get
/// alike is noted once for each of them and put together once for all.
struct Courses {
    typealias SubscriptionID = Fanout.SubscriptionID

    /// A change on the way, by its place in the look.
    struct Step {
        let change: Int

        /// Whether it is about the subscriber's own user.
        let isOwn: Bool
        fileprivate let before: Int
    }

    /// The last steps of the courses; the course of that number ends with the one before it. Number 0 has none.
    private var steps: [Step] = []
    private var courses: [SubscriptionID: Int] = [:]

    /// Where a course leads to by the change that is given now: for others, and for the own user.
    private var ways: (others: [Int: Int], own: [Int: Int]) = ([:], [:])
    private var change = -1

    /// The way that was gone last: most often it is the next one's too.
    private var last: (from: Int, to: Int, isOwn: Bool)?

    /// Gives a subscriber a change. All that get one get it before anybody gets a later one.
    mutating func give(_ change: Int, isOwn: Bool = false, to id: SubscriptionID) {
        if change != self.change {
            self.change = change
            ways = ([:], [:])
            last = nil
        }
        let from = courses[id, default: 0]
        courses[id] = way(from: from, isOwn: isOwn)
    }

    private mutating func way(from: Int, isOwn: Bool) -> Int {
        if let last, last.from == from, last.isOwn == isOwn { return last.to }
        let to: Int
        if let known = isOwn ? ways.own[from] : ways.others[from] {
            to = known
        } else {
            steps.append(Step(change: change, isOwn: isOwn, before: from))
            to = steps.count
            if isOwn { ways.own[from] = to } else { ways.others[from] = to }
        }
        last = (from, to, isOwn)
        return to
    }

    /// There will be about so many subscribers.
    mutating func reserveCapacity(_ count: Int) {
        if courses.capacity < count { courses.reserveCapacity(count) }
    }

    /// The courses, each with those who are on it.
    func all() -> [(steps: [Step], subscribers: [SubscriptionID])] {
        var subscribers: [[SubscriptionID]] = Array(repeating: [], count: steps.count + 1)
        for (id, course) in courses { subscribers[course].append(id) }
        return subscribers.indices.lazy.filter { !subscribers[$0].isEmpty }.map { (path($0), subscribers[$0]) }
    }

    private func path(_ course: Int) -> [Step] {
        var path: [Step] = []
        var next = course
        while next > 0 {
            path.append(steps[next - 1])
            next = steps[next - 1].before
        }
        return path.reversed()
    }
}
