/// What the feed does over one connection.
struct FeedVisit: Sendable {
    let isAtStandby: Bool
    let begin = ContinuousClock.now

    /// Whether a look has seen all that was seen elsewhere.
    var hasArrived = false

    /// Since when a standby runs.
    var started: String?

    /// How far a standby is to be, and what was written before `reached` is there.
    var awaited: StandbyWatch.Mark?
    var reached: ContinuousClock.Instant?
}
