/// The reason why a password was neither hashed nor verified.
package enum PasswordHashingError: Error, Sendable, Hashable {
    /// The queue is full. The same request may succeed later.
    case busy
    /// The task was cancelled while waiting.
    case cancelled
    /// The stored text is neither an Argon2id hash in PHC format nor a bcrypt hash, or is too costly for a sign-in.
    case unreadableHash
    /// libargon2 failed with this code; 22 means out of memory.
    case failed(Int32)
}
