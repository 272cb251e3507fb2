import Foundations

/// Decides what a node reports of its users' presence, and when. It has no clock and no I/O.
///
/// It has one entry for each user with a session here or in the last report, so that its size is bounded by the
/// sessions.
struct PresenceState {
    typealias Instant = ContinuousClock.Instant

    /// The content of one statement.
    struct Report: Equatable {
        /// The users that came online, and those that went offline.
        var arrived: [ID] = []
        var gone: [ID] = []

        /// True if no other user is online here.
        var isComplete = false

        /// True if the report changes the presence of users, and does not only renew the lease.
        var hasUsers: Bool { !arrived.isEmpty || !gone.isEmpty || isComplete }
    }

    /// The outcome of a report.
    enum Outcome {
        case accepted
        /// The database does not know this node.
        case rejected
        /// The connection failed, so that the report may have been accepted or not.
        case unknown
    }

    /// The most users of one report.
    static let maxUsersPerReport = 5_000

    private let times: PresenceTimes

    /// The number of live, active sessions of each user.
    private var sessions: [ID: Int] = [:]

    /// The users that were reported as online.
    private var reported: Set<ID> = []

    /// The users that are online and not reported yet.
    private var arrivals: Set<ID> = []

    /// The reported users without a session, and the end of their last one.
    private var departures: [ID: Instant] = [:]

    /// The earliest of these times, or an earlier time.
    private var firstDeparture: Instant?

    /// True if the database may differ from what was reported.
    private var needsCompleteReport = false

    /// The times of the last report and of the last report with users.
    private var lastReport: Instant
    private var lastUserReport: Instant?

    init(_ times: PresenceTimes, at now: Instant) {
        self.times = times
        lastReport = now
    }

    /// True if the database has a lease of this node.
    var hasLease: Bool { !reported.isEmpty }

    /// Counts a session of the user.
    mutating func sessionStarted(of user: ID) {
        sessions[user, default: 0] += 1
        departures[user] = nil
        if !reported.contains(user) { arrivals.insert(user) }
    }

    /// Ends a counted session of the user.
    mutating func sessionEnded(of user: ID, at now: Instant) {
        guard let count = sessions[user] else { return }
        guard count == 1 else { return sessions[user] = count - 1 }
        sessions[user] = nil
        arrivals.remove(user)
        guard reported.contains(user) else { return }
        departures[user] = now
        firstDeparture = firstDeparture ?? now
    }

    /// The time of the next report, or nil if none is due before a session starts.
    var due: Instant? {
        let nextUserReport = lastUserReport.map { $0 + times.reportInterval } ?? lastReport
        if needsCompleteReport || !arrivals.isEmpty { return nextUserReport }
        // A node without users has no lease to renew.
        guard !reported.isEmpty else { return nil }
        let renewal = lastReport + times.renewalInterval
        guard let firstDeparture else { return renewal }
        return min(renewal, max(nextUserReport, firstDeparture + times.grace))
    }

    /// Returns the report that is due now, or nil. Call ``reportCompleted(_:)`` after each.
    mutating func report(at now: Instant) -> Report? {
        guard let due, due <= now else { return nil }
        // Some users may have returned.
        firstDeparture = departures.values.min()
        guard let due = self.due, due <= now else { return nil }
        var report = Report()
        // The database may not know a node that has reported no user.
        report.isComplete = needsCompleteReport || reported.isEmpty
        let departed = departures.filter { $0.value + times.grace <= now }.keys
        if report.isComplete {
            for user in departed { departures[user] = nil }
            report.arrived = Array(Set(sessions.keys).union(departures.keys).prefix(Self.maxUsersPerReport))
            reported = Set(report.arrived)
            departures = departures.filter { reported.contains($0.key) }
            arrivals = Set(sessions.keys).subtracting(reported)
        } else if lastUserReport.map({ $0 + times.reportInterval <= now }) ?? true {
            report.gone = Array(departed.prefix(Self.maxUsersPerReport))
            report.arrived = Array(arrivals.prefix(Self.maxUsersPerReport - report.gone.count))
            for user in report.gone { departures[user] = nil }
            reported.subtract(report.gone)
            reported.formUnion(report.arrived)
            arrivals.subtract(report.arrived)
        }
        firstDeparture = departures.values.min()
        needsCompleteReport = false
        lastReport = now
        if report.hasUsers { lastUserReport = now }
        return report
    }

    /// Records the outcome of the last report.
    mutating func reportCompleted(_ outcome: Outcome) {
        switch outcome {
        case .accepted: break
        case .rejected:
            // The report had no effect, so the next one need not wait.
            lastUserReport = nil
            needsCompleteReport = true
        case .unknown: needsCompleteReport = true
        }
    }
}
