/// An event of a listener.
package enum ListenerEvent: Sendable {
    /// LISTEN has committed: no later notification is missed. After a loss, changes may have been missed.
    case listening
    /// A notification: the channel, the sender's process id and the payload.
    case notified(channel: String, processID: Int32, payload: String)
    /// The connection was lost or could not be made. The listener retries.
    case lost(PostgresError)
}
