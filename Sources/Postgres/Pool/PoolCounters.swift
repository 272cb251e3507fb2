/// The counters of a pool, for tests. A node's metrics have the waits for a connection (`PoolOptions.onWait`) instead.
package struct PoolCounters: Sendable, Hashable {
    /// Open connections that are free.
    package var idle: Int
    /// Connections in use.
    package var busy: Int
    /// Running connection attempts.
    package var opening: Int
    /// Requests that wait for a connection.
    package var waiting: Int
    /// Connections opened since the start.
    package var opened: Int
    /// Failed connection attempts since the start.
    package var failed: Int
    /// Connections lost or abandoned with their request since the start.
    package var lost: Int
    /// Requests rejected without a connection since the start.
    package var refused: Int
    /// Retried runs since the start.
    package var retried: Int
}
