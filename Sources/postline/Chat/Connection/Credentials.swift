/// What a person signs in with.
enum Credentials: Sendable {
    case password(email: String, password: String)
    case token(String)
    /// As a new guest.
    case guest(name: String?)
}

/// Why the chat cannot go on: a sentence for a person.
struct ChatEnded: Error, CustomStringConvertible {
    let description: String

    static let revoked = ChatEnded(
        description: "This session was ended from elsewhere: signed out, or the password was changed. Sign in again.")
}
