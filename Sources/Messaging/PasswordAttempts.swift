internal import Crypto

/// Whose wrong passwords are counted together.
///
/// Each kind is apart from the others, and is filled by nobody but whoever it then bounds, with one exception: whoever
/// knows an address can try passwords for it, and those who sign in with it wait for that.
enum PasswordAttempts: Hashable, Sendable {
    /// Sign-ins with that address, as a digest: what is sent as one may be long.
    case signIns(SHA256Digest)

    /// The checks of a password in a session. Not of a user: who has stolen one session keeps the others from nothing.
    case checks(session: ID)

    /// - Parameter email: in one spelling.
    static func signIns(with email: String) -> PasswordAttempts { .signIns(SHA256.hash(data: Array(email.utf8))) }

    /// What is said to whoever has tried too many.
    var refusal: String {
        switch self {
        case .signIns: "Too many wrong passwords for this account."
        case .checks: "Too many passwords were checked in this session."
        }
    }

    /// Within a session, right passwords are counted too: each costs as much to check, and nobody needs many.
    var countsSuccess: Bool {
        switch self {
        case .signIns: false
        case .checks: true
        }
    }
}
