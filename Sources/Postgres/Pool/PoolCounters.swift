/// What a pool has and what it has done, at one moment: what the tests of the pool wait for and hold it to.
///
/// A node's figures have the waits for a connection (`PoolOptions.onWait`) instead.
public struct PoolCounters: Sendable, Hashable {
    /// Connections that are open and free.
    public var idle: Int
    /// Connections at work.
    public var busy: Int
    /// Attempts to connect that are under way.
    public var opening: Int
    /// Requests that wait for a connection.
    public var waiting: Int
    /// Connections that were opened since the start.
    public var opened: Int
    /// Attempts to connect that failed since the start.
    public var failed: Int
    /// Connections that ended by themselves, or were given up with what ran on them, since the start.
    public var lost: Int
    /// Requests that got no connection since the start.
    public var refused: Int
    /// Runs that were tried again since the start.
    public var retried: Int
}
