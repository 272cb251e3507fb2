package import Crypto
package import Foundations

/// The keys under which password attempts are counted.
///
/// Each key has its own rate limit. Only sign-in by email can be exhausted by a third party.
package enum PasswordAttempts: Hashable, Sendable {
    /// Sign-ins with an email address, as a digest, since clients may send long texts.
    case signIns(SHA256Digest)

    /// Password checks in a session. They are not counted by user, so that a stolen session cannot block the others.
    case checks(session: ID)

    /// - Parameter email: the normalized address.
    package static func signIns(with email: String) -> PasswordAttempts {
        .signIns(SHA256.hash(data: Array(email.utf8)))
    }

    /// The message of the error when the limit is reached.
    package var refusal: String {
        switch self {
        case .signIns: "Too many wrong passwords for this account."
        case .checks: "Too many passwords were checked in this session."
        }
    }

    /// True if correct passwords count too. In a session they do: each costs as much to check, and few are needed.
    package var countsSuccess: Bool {
        switch self {
        case .signIns: false
        case .checks: true
        }
    }
}
