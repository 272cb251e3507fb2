/// Decides what a node tells of its users' presence, and when: who is here, what the database was told, and the
/// difference. It asks no clock.
///
/// It holds one entry for each user who is here or was told of, and so no more than there are sessions, and those whom a
/// database that is away was told of last.
struct PresenceState {
    typealias Instant = ContinuousClock.Instant

    /// What is told in one statement.
    struct Report: Equatable {
        var arrived: [ID] = []
        var gone: [ID] = []

        /// Whether nobody else is here.
        var isWhole = false

        /// Whether it tells of somebody, and does not just renew the lease.
        var tells: Bool { !arrived.isEmpty || !gone.isEmpty || isWhole }
    }

    /// What came of a report.
    enum Outcome {
        case taken
        /// The database does not know this node.
        case refused
        /// Nobody knows whether it was taken.
        case lost
    }

    /// Of how many users one report tells at most.
    static let mostAtOnce = 5_000

    private let times: PresenceTimes

    /// How many sessions each user has here.
    private var sessions: [ID: Int] = [:]

    /// The users of whom the database was told that they are here.
    private var told: Set<ID> = []

    /// Who is here, and was not told of.
    private var arrivals: Set<ID> = []

    /// Who was told of and has no session any more, and since when.
    private var leaving: [ID: Instant] = [:]

    /// When the first of them left, or earlier.
    private var firstLeaving: Instant?

    /// Whether the database may have something else than was told.
    private var isUnsure = false

    /// When the last report was made, and the last that told of somebody.
    private var lastReport: Instant
    private var lastTelling: Instant?

    init(_ times: PresenceTimes, at now: Instant) {
        self.times = times
        lastReport = now
    }

    /// Whether the database counts on this node's lease.
    var hasLease: Bool { !told.isEmpty }

    /// A session of that user is here.
    mutating func began(_ user: ID) {
        sessions[user, default: 0] += 1
        leaving[user] = nil
        if !told.contains(user) { arrivals.insert(user) }
    }

    /// One of the user's sessions that had begun is here no more.
    mutating func ended(_ user: ID, at now: Instant) {
        guard let count = sessions[user] else { return }
        guard count == 1 else { return sessions[user] = count - 1 }
        sessions[user] = nil
        arrivals.remove(user)
        guard told.contains(user) else { return }
        leaving[user] = now
        firstLeaving = firstLeaving ?? now
    }

    /// When there is next something to report; nil: not before somebody comes.
    var due: Instant? {
        let telling = lastTelling.map { $0 + times.pace } ?? lastReport
        if isUnsure || !arrivals.isEmpty { return telling }
        // With nobody here there is no lease to renew.
        guard !told.isEmpty else { return nil }
        let renewal = lastReport + times.renewal
        guard let firstLeaving else { return renewal }
        return min(renewal, max(telling, firstLeaving + times.grace))
    }

    /// What is to be reported now; nil where that is nothing. Each is to be followed by its outcome.
    mutating func report(at now: Instant) -> Report? {
        guard let due, due <= now else { return nil }
        // Some may be back.
        firstLeaving = leaving.values.min()
        guard let due = self.due, due <= now else { return nil }
        var report = Report()
        // Of a node that has told of nobody the database may know nothing.
        report.isWhole = isUnsure || told.isEmpty
        let over = leaving.filter { $0.value + times.grace <= now }.keys
        if report.isWhole {
            for user in over { leaving[user] = nil }
            report.arrived = Array(Set(sessions.keys).union(leaving.keys).prefix(Self.mostAtOnce))
            told = Set(report.arrived)
            leaving = leaving.filter { told.contains($0.key) }
            arrivals = Set(sessions.keys).subtracting(told)
        } else if lastTelling.map({ $0 + times.pace <= now }) ?? true {
            report.gone = Array(over.prefix(Self.mostAtOnce))
            report.arrived = Array(arrivals.prefix(Self.mostAtOnce - report.gone.count))
            for user in report.gone { leaving[user] = nil }
            told.subtract(report.gone)
            told.formUnion(report.arrived)
            arrivals.subtract(report.arrived)
        }
        firstLeaving = leaving.values.min()
        isUnsure = false
        lastReport = now
        if report.tells { lastTelling = now }
        return report
    }

    /// What came of the last report.
    mutating func came(_ outcome: Outcome) {
        switch outcome {
        case .taken: break
        case .refused:
            // Nothing was told by it.
            lastTelling = nil
            isUnsure = true
        case .lost: isUnsure = true
        }
    }
}
