internal import PostlineClient

/// What is done with a conversation, most often a group; each needs the server at once.
enum GroupAction: Sendable, Equatable {
    case create(title: String, with: [Who])
    case add([Who], to: String)
    case remove(userID: String, from: String)
    case leave(String)
    case rename(String, to: String)
    case setRole(MemberRole, of: String, in: String)
    /// Of any conversation. Nil minutes: for good.
    case mute(String, minutes: Int?)
    case unmute(String)

    /// Somebody who is meant: in sight, or to be looked for by name.
    enum Who: Sendable, Equatable {
        case known(id: String)
        case named(String)
    }
}
