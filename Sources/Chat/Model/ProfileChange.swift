import Postline

/// A change of the user's own profile.
enum ProfileChange: Sendable, Equatable {
    case name(String)
    case username(String)
    /// The avatar, or nil for none.
    case avatar(ProfileEdit.AvatarChoice?)
    /// The bio; nil clears it.
    case bio(String?)
    case presence(isHidden: Bool)

    /// Applies the change to the user's data.
    func apply(to edit: inout ProfileEdit) {
        switch self {
        case .name(let name): edit.fullName = name
        case .username(let username): edit.username = username
        case .avatar(let picture): edit.avatar = picture
        case .bio(let bio): edit.bio = bio
        case .presence(let isHidden): edit.hidesPresence = isHidden
        }
    }
}
