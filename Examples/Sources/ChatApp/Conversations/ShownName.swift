import Postline

extension User {
    /// The name to show, also of a guest without a name and of a deleted user.
    var shownName: String { displayName ?? (isDeleted ? "Deleted user" : "Guest") }
}

extension User? {
    /// The name to show. A profile that the device does not have is that of a deleted user.
    var shownName: String { self?.shownName ?? "Deleted user" }
}

extension Conversation {
    /// The title of a group, or the name of the other user.
    var shownName: String { displayName ?? otherUser.shownName }
}
