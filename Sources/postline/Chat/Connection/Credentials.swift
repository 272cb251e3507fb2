/// What a person signs in with.
enum Credentials: Sendable {
    case password(email: String, password: String)
    case token(String)
}

/// Why the chat cannot go on: a sentence for a person.
struct ChatEnded: Error, CustomStringConvertible {
    let description: String
}
