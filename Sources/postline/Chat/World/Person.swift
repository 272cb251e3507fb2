internal import LineClient
internal import Messaging

/// What the chat shows of a user, from a Profile, a Me, or the `sender` of a message.
struct Person: Sendable, Equatable {
    let id: String
    let username: String?
    let fullName: String?
    let avatar: Avatar
    let isDeleted: Bool
    let version: Int

    /// Nil where the value is no such object.
    init?(_ json: JSON) {
        guard let id = json["id"]?.stringValue else { return nil }
        self.id = id
        username = json["username"]?.stringValue
        fullName = json["full_name"]?.stringValue
        avatar = Avatar(json)
        // A sender's card does not say so, but of the deleted both names are null.
        isDeleted = json["is_deleted"]?.booleanValue ?? (username == nil && fullName == nil)
        version = json["version"]?.integerValue ?? 0
    }

    /// The name to show.
    var name: String {
        if let fullName { return fullName }
        if let username { return username }
        return isDeleted ? "(deleted user)" : "(guest)"
    }
}
