import Postline

/// An action on a conversation, mostly a group. All need the server.
enum GroupAction: Sendable, Equatable {
    case create(title: String, with: [Who])
    case add([Who], to: String)
    case remove(userID: String, from: String)
    case leave(String)
    case rename(String, to: String)
    case setRole(MemberRole, of: String, in: String)
    /// Mutes any conversation; nil minutes means permanently.
    case mute(String, minutes: Int?)
    case unmute(String)

    /// A user to add: a known one, or a name to search for.
    enum Who: Sendable, Equatable {
        case known(id: String)
        case named(String)
    }
}
