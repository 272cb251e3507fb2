/// What a listener has to tell.
public enum ListenerEvent: Sendable {
    /// LISTEN is committed: from here on nothing is missed. After a loss this means: look at what happened meanwhile.
    case listening
    /// Someone notified: the channel, the backend's process id and the payload.
    case notified(channel: String, processID: Int32, payload: String)
    /// The connection is lost, or was not made; the listener tries again by itself.
    case lost(PostgresError)
}
