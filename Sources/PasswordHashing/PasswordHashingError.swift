/// Why a password was neither hashed nor verified.
public enum PasswordHashingError: Error, Sendable, Hashable {
    /// As many passwords wait as may; the same request may succeed later.
    case busy
    /// The task was cancelled while the password waited for its turn.
    case cancelled
    /// The stored text is neither an Argon2id hash in PHC format nor a bcrypt hash, or asks for more memory or time
    /// than a sign-in may take.
    case unreadableHash
    /// libargon2 failed, with its code: 22 is memory that could not be had.
    case failed(Int32)
}
