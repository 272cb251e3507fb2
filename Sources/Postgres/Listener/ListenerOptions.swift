/// How a listener behaves.
public struct ListenerOptions: Sendable {
    /// How often the connection is asked whether it still listens.
    public var keepaliveInterval: Duration = .seconds(5)
    /// How long it may take to answer that.
    public var keepaliveDeadline: Duration = .seconds(5)
    /// The waits between attempts to connect.
    public var backoff = Backoff(base: .milliseconds(50), limit: .seconds(2))
    /// How connections are made.
    public var connection = ConnectionOptions()

    /// The defaults.
    public init() {}
}
