/// What a person signs in with.
enum Credentials: Sendable {
    case password(email: String, password: String)
    case token(String)
    /// As a new guest.
    case guest(name: String?)
}
