/// An event of a client. When it comes, the models already show its result.
public enum ClientEvent: Sendable, Hashable {
    /// The state of the connection has changed. ``ConnectionState/signedOut(_:)`` has the reason why the server ended
    /// the session.
    case stateChanged(ConnectionState)
    /// Another user's message arrived, also one that came while the client was offline, or that this user has read on
    /// another device (``Conversation/lastReadSeq``). The messages of a first sync, or of one after the server was
    /// restored, are no events, nor are those of blocked users in groups.
    case messageReceived(Message)
    /// The server refused a change of this user.
    case changeRefused(RefusedChange)
    /// The reader was too slow, or more than 100 messages of a conversation came while the client was offline: this many
    /// events were left out. See ``ClientEvents``.
    case missed(count: Int)

    /// The conversation of the message or change, or nil for other events.
    public var conversationID: Conversation.ID? {
        switch self {
        case .messageReceived(let message): message.conversationID
        case .changeRefused(let change): change.conversationID
        case .stateChanged, .missed: nil
        }
    }
}
