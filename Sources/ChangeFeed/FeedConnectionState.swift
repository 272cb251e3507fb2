/// The state of the feed on one connection.
struct FeedConnectionState: Sendable {
    let isAtStandby: Bool
    let begin = ContinuousClock.now

    /// True once a poll has covered everything that was distributed over previous connections.
    var hasCaughtUp = false

    /// The start time of the standby's server process.
    private(set) var started: String?

    /// The log position that the standby must replay next. Everything written before `reached` is visible there.
    private var awaited: StandbyWatch.Mark?
    private(set) var reached: ContinuousClock.Instant?

    private var isKnownToBeStuck = false

    init(isAtStandby: Bool) { self.isAtStandby = isAtStandby }

    /// Records a poll of the standby, which showed a database of that epoch.
    ///
    /// - Parameters:
    ///   - moment: the standby's log position before the poll.
    ///   - newest: the primary's newest known log position.
    /// - Returns: true if the standby has not replayed the primary's position yet and must be polled again.
    /// - Throws: `standbyIsBehind` if the lag exceeds `longestLag`; `standbyOfAnother` if the standby does not follow
    ///   this primary.
    mutating func note(
        _ moment: StandbyWatch.Moment, of epoch: String, newest: StandbyWatch.Mark?, longestLag: Duration
    ) throws(FeedError) -> Bool {
        started = moment.started
        let newest = newest.flatMap { $0.asked > begin ? $0 : nil }
        if awaited == nil { awaited = newest }
        if let mark = awaited, moment.replayed >= mark.end {
            guard mark.epoch == epoch else { throw .standbyOfAnother }
            reached = mark.asked
            awaited = newest.flatMap { $0.asked > mark.asked ? $0 : nil }
        }
        guard let since = awaited?.asked ?? (reached == nil ? begin : nil) else { return false }
        guard .now - since < longestLag else { throw .standbyIsBehind }
        return true
    }

    /// Returns true, once, if the connection has not caught up after that time.
    mutating func isStuck(after time: Duration) -> Bool {
        guard !hasCaughtUp, !isKnownToBeStuck, .now - begin >= time else { return false }
        isKnownToBeStuck = true
        return true
    }
}
