package import Foundations

/// Options of a pool.
package struct PoolOptions: Sendable {
    /// The number of connections.
    package var size = 8
    /// The maximum wait for a connection, after which a request fails with `unavailable`.
    package var waitLimit: Duration = .seconds(3)
    /// The maximum number of attempts for failures without effect.
    package var maximumAttempts = 4
    /// True if the connections are for writes. A read-only connection (25006, a standby) is then replaced after a
    /// second at the earliest, so that a failover or the end of a write stop is noticed at once.
    package var isForWrites = true
    /// The back-off between connection attempts.
    package var backoff = Backoff(base: .milliseconds(50), limit: .seconds(2))
    /// The time that running requests have once the pool closes.
    package var closeLimit: Duration = .seconds(5)
    /// The share of one owner; nil for no limit.
    package var share: PoolShare?
    /// Called on the pool's thread with the time that a request waited for its owner's share, and whether it was
    /// rejected for that.
    package var onShareWait: (@Sendable (Duration, _ isRefused: Bool) -> Void)?
    /// Called on the pool's thread with the time that any other request waited for a connection.
    package var onWait: (@Sendable (Duration) -> Void)?
    /// Options for its connections.
    package var connection = ConnectionOptions()

    /// The defaults.
    package init() {}

    /// The defaults with another size and wait limit.
    package init(size: Int, waitLimit: Duration = .seconds(3)) {
        self.size = size
        self.waitLimit = waitLimit
    }
}
