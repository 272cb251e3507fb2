/// Options of a listener.
public struct ListenerOptions: Sendable {
    /// The interval of checks that the connection still listens.
    public var keepaliveInterval: Duration = .seconds(5)
    /// The timeout of such a check.
    public var keepaliveDeadline: Duration = .seconds(5)
    /// The back-off between connection attempts.
    public var backoff = Backoff(base: .milliseconds(50), limit: .seconds(2))
    /// Options for its connections.
    public var connection = ConnectionOptions()

    /// The defaults.
    public init() {}
}
