extension Feed {
    /// Where the feed looks, how often, and when it gives up.
    struct Settings: Sendable {
        /// The primary.
        let url: String

        /// A standby of it at which the feed looks, as long as it can be reached and keeps up; nil: none.
        var standbyURL: String?
        let limits: StatementLimits

        /// The least time between the starts of two looks, and of two bells: what commits meanwhile shares the next.
        /// It delays nothing at rest, and bounds what either costs the database under load.
        var pace: Duration = .milliseconds(5)
        var sweep: Duration = .seconds(1)

        /// How long a look waits at most for what this node is writing.
        var maxWriteWait: Duration = .milliseconds(10)

        /// How often, and how many times, it is asked whether others' commits have sealed what a look saw.
        var durabilityPace: Duration = .milliseconds(1)
        var durabilityPolls = 5

        /// How long after the primary a standby may be, and how often it is tried whether one that could not be used can.
        var longestLag: Duration = .seconds(10)
        var probe: Duration = .seconds(2)

        /// For how long a session that comes before the first look waits for it.
        var firstPollTimeout: Duration = .seconds(2)

        /// After how many sweeps quiet sessions are told how far they are.
        var sweepsPerNote = 10

        /// How often in a row a look may fail before it is given up: everybody is behind then. Where its connection
        /// is ended the cause is most often another than the look, such as a restart, and it may fail more often.
        var maxPollFailures = 2
        var maxConnectionLosses = 10

        /// Where a look finds too much to tell: of how many users it is asked at once whether they are concerned, and
        /// for how long in all. Those who were not asked by then count as concerned.
        var usersAtOnce = 500
        var affectedUsersTimeout: Duration = .seconds(1)
    }
}
