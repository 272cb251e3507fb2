/// How a pool behaves.
public struct PoolOptions: Sendable {
    /// How many connections it keeps.
    public var size = 8
    /// How long a request waits for a connection before it hears `unavailable`.
    public var waitLimit: Duration = .seconds(3)
    /// How often a run is sent at most where it fails in a way that has left nothing behind.
    public var maximumAttempts = 4
    /// True if its connections are for writes. A connection that takes none (25006, a standby's) is then closed and made
    /// anew, after a second at the earliest, so that a failover, or the end of a stop of writes, is noticed at once.
    public var isForWrites = true
    /// The waits between attempts to connect.
    public var backoff = Backoff(base: .milliseconds(50), limit: .seconds(2))
    /// How long what runs may last once the pool closes.
    public var closeLimit: Duration = .seconds(5)
    /// How much of it one owner of requests may take; nil: nothing is bounded.
    public var share: PoolShare?
    /// Is told how long each request waited while its owner's share was in use, got a connection or not, on the pool's
    /// thread; and whether it was refused for that.
    package var onShareWait: (@Sendable (Duration, _ isRefused: Bool) -> Void)?
    /// Is told how long each other request waited for a connection, got or not, on the pool's thread.
    public var onWait: (@Sendable (Duration) -> Void)?
    /// How connections are made.
    public var connection = ConnectionOptions()

    /// The defaults.
    public init() {}

    /// The defaults but for the size and the wait.
    public init(size: Int, waitLimit: Duration = .seconds(3)) {
        self.size = size
        self.waitLimit = waitLimit
    }
}
