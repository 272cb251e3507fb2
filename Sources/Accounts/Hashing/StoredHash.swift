/// A stored password hash, by the algorithm that made it.
enum StoredHash: Sendable {
    case argon2id(String)
    case bcrypt(Bcrypt)

    /// A hash that cannot be verified or is too costly.
    case unreadable

    init(_ text: String) {
        if let bcrypt = Bcrypt(text) {
            self = .bcrypt(bcrypt)
        } else {
            self = Argon2id.isAffordable(text) ? .argon2id(text) : .unreadable
        }
    }

    /// Returns true if it was made from this password.
    ///
    /// - Throws: `unreadableHash`, after the time of a wrong password, so that an attacker cannot tell.
    func matches(_ password: String) throws(PasswordHashingError) -> Bool {
        do throws(PasswordHashingError) {
            switch self {
            case .argon2id(let phc): return try Argon2id.verify(password, against: phc)
            case .bcrypt(let bcrypt): return try bcrypt.matches(password)
            case .unreadable: throw .unreadableHash
            }
        } catch .unreadableHash {
            _ = try Argon2id.verify(password, against: Argon2id.dummyHash)
            throw .unreadableHash
        }
    }
}
