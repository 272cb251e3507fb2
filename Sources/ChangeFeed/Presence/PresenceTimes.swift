/// The intervals of presence reports and the validity of a report (`docs/protocol.md`, section 4).
package struct PresenceTimes: Sendable {
    /// The time after a node's last report in which its users stay online, in whole seconds.
    package var lease: Duration = .seconds(10)

    /// The time after which a node without changes renews its lease.
    package var renewalInterval: Duration = .seconds(3)

    /// The least time between two reports that contain users.
    package var reportInterval: Duration = .seconds(1)

    /// The time for which a user stays online after its last session ends, so that a reconnect is not visible.
    package var grace: Duration = .seconds(5)

    /// The interval of checks for nodes whose lease has expired.
    package var nodeCheckInterval: Duration = .seconds(2)

    package init() {}
}
