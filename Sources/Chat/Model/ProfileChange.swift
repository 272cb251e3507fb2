internal import LineClient
internal import Messaging

/// A change of the user's own profile, each one call that answers with the whole Me.
enum ProfileChange: Sendable, Equatable {
    case name(String)
    case username(String)
    case avatar(Avatar)
    /// Nil clears it.
    case bio(String?)

    var method: String {
        switch self {
        case .name, .bio: "me.update"
        case .username: "me.change_username"
        case .avatar: "me.set_avatar"
        }
    }

    var params: JSONObject {
        switch self {
        case .name(let name): ["full_name": .string(name)]
        case .username(let username): ["username": .string(username)]
        case .avatar(.none): ["avatar_type": .null]
        case .avatar(.builtIn(let id)): ["avatar_type": .string("built_in"), "avatar_id": .string(id)]
        case .avatar(.custom(let url)): ["avatar_type": .string("custom"), "avatar_url": .string(url)]
        case .bio(let bio): ["bio": bio.map(JSON.string) ?? .null]
        }
    }
}
