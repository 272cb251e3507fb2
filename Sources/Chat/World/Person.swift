internal import LineClient
internal import Messaging

/// What the chat shows of a user, from a Profile, a Me, or the `sender` of a message.
struct Person: Sendable, Equatable {
    let id: String
    let username: String?
    let fullName: String?
    let avatar: Avatar
    /// Nil where only a message's `sender` was told, which does not say.
    private(set) var isDeleted: Bool?
    let version: Int

    /// Nil where the value is no such object.
    init?(_ json: JSON) {
        guard let id = json["id"]?.stringValue else { return nil }
        self.id = id
        username = json["username"]?.stringValue
        fullName = json["full_name"]?.stringValue
        avatar = Avatar(json)
        isDeleted = json["is_deleted"]?.booleanValue
        version = json["version"]?.integerValue ?? 0
    }

    /// The name to show.
    var name: String {
        if let fullName { return fullName }
        if let username { return username }
        return switch isDeleted {
        case true?: "(deleted user)"
        case false?: "(guest)"
        case nil: "(no name)"
        }
    }

    /// What is known after this, which says all that it says.
    func replaced(by newer: Person) -> Person {
        var person = newer
        if person.isDeleted == nil { person.isDeleted = isDeleted }
        return person
    }
}
