/// The counters of a pool, for tests. A node's metrics have the waits for a connection (`PoolOptions.onWait`) instead.
public struct PoolCounters: Sendable, Hashable {
    /// Open connections that are free.
    public var idle: Int
    /// Connections in use.
    public var busy: Int
    /// Running connection attempts.
    public var opening: Int
    /// Requests that wait for a connection.
    public var waiting: Int
    /// Connections opened since the start.
    public var opened: Int
    /// Failed connection attempts since the start.
    public var failed: Int
    /// Connections lost or abandoned with their request since the start.
    public var lost: Int
    /// Requests rejected without a connection since the start.
    public var refused: Int
    /// Retried runs since the start.
    public var retried: Int
}
