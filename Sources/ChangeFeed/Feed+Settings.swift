package import DatabaseAccess

extension Feed {
    /// The feed's connections, intervals and limits.
    package struct Settings: Sendable {
        /// The URL of the primary.
        package let url: String

        /// The URL of a standby, which the feed polls while it is reachable and keeps up; nil if there is none.
        package var standbyURL: String?
        package let limits: StatementLimits

        /// The largest push that a connection takes, in bytes.
        package let maxPushBytes: Int

        /// The minimum time between the starts of two notifications, and of two polls under load: commits in the
        /// meantime share the next. It delays nothing at rest, and limits the load on the database.
        var pace: Duration = .milliseconds(5)

        /// The time between the starts of two polls for each change of the first, from ``shortestPace`` to ``pace``.
        /// Up to four thousand changes per second are polled as fast as they come.
        var pacePerChange: Duration = .microseconds(250)
        var shortestPace: Duration = .milliseconds(1)
        package var sweep: Duration = .seconds(1)

        /// The longest time that a poll waits for this node's pending writes.
        var maxWriteWait: Duration = .milliseconds(10)

        /// The interval between checks of whether other commits have flushed the log, and the number of checks.
        var durabilityPace: Duration = .milliseconds(1)
        var durabilityPolls = 5

        /// The longest replication lag at which a standby is used, and the interval at which an unusable standby is
        /// probed.
        var longestLag: Duration = .seconds(10)
        package var probe: Duration = .seconds(2)

        /// The longest time that a new session waits for the first poll.
        var firstPollTimeout: Duration = .seconds(2)

        /// The number of sweeps after which idle sessions are sent their cursor.
        var sweepsPerNote = 10

        /// The number of consecutive failed polls after which the pending changes are skipped and all sessions must
        /// resync. The limit for lost connections is higher: the cause is mostly not the poll but, for instance, a
        /// restart.
        var maxPollFailures = 2
        var maxConnectionLosses = 10

        /// When a batch exceeds its limit: the number of users that one query checks for changes, and the time for all
        /// queries. Users that were not checked in that time count as affected.
        var usersAtOnce = 500
        var affectedUsersTimeout: Duration = .seconds(1)

        package init(
            url: String, standbyURL: String? = nil, limits: StatementLimits, maxPushBytes: Int = 1 << 20
        ) {
            self.url = url
            self.standbyURL = standbyURL
            self.limits = limits
            self.maxPushBytes = maxPushBytes
        }
    }
}
