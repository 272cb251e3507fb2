/// What the feed does over one connection.
struct FeedConnectionState: Sendable {
    let isAtStandby: Bool
    let begin = ContinuousClock.now

    /// Whether a look has seen all that was seen elsewhere.
    var hasCaughtUp = false

    /// Since when a standby runs.
    private(set) var started: String?

    /// How far a standby is to be, and what was written before `reached` is there.
    private var awaited: StandbyWatch.Mark?
    private(set) var reached: ContinuousClock.Instant?

    private var isKnownToBeStuck = false

    init(isAtStandby: Bool) { self.isAtStandby = isAtStandby }

    /// A look at a standby, which had replayed the log so far, saw a database of that epoch.
    ///
    /// - Parameter newest: of the primary.
    /// - Returns: whether it is to be looked again: the standby is not yet as far as the primary was.
    /// - Throws: `standbyIsBehind` where it has not been for long, `standbyOfAnother` where it never will be.
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

    /// Whether it has not arrived for so long; true once.
    mutating func isStuck(after time: Duration) -> Bool {
        guard !hasCaughtUp, !isKnownToBeStuck, .now - begin >= time else { return false }
        isKnownToBeStuck = true
        return true
    }
}
