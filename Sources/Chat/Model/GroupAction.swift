import Postline

/// An action on a conversation, mostly a group. All need the server.
enum GroupAction: Sendable, Equatable {
    case create(title: String, with: [Who])
    case add([Who], to: Conversation.ID)
    case remove(userID: User.ID, from: Conversation.ID)
    case leave(Conversation.ID)
    case rename(Conversation.ID, to: String)
    case setRole(MemberRole, of: User.ID, in: Conversation.ID)
    /// Mutes any conversation; nil minutes means permanently.
    case mute(Conversation.ID, minutes: Int?)
    case unmute(Conversation.ID)
    /// Sets after how many minutes messages of any conversation expire; nil means never.
    case expire(Conversation.ID, minutes: Int?)

    /// A user to add: a known one, or a name to search for.
    enum Who: Sendable, Equatable {
        case known(id: User.ID)
        case named(String)
    }
}
