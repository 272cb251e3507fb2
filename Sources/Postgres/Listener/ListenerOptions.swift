package import Foundations

/// Options of a listener.
package struct ListenerOptions: Sendable {
    /// The interval of checks that the connection still listens.
    package var keepaliveInterval: Duration = .seconds(5)
    /// The timeout of such a check.
    package var keepaliveDeadline: Duration = .seconds(5)
    /// The back-off between connection attempts.
    package var backoff = Backoff(base: .milliseconds(50), limit: .seconds(2))
    /// Options for its connections.
    package var connection = ConnectionOptions()

    /// The defaults.
    package init() {}
}
