package import Foundations

/// An account whose credentials were verified, or that was just created. Sessions of it may be opened.
package struct AuthenticatedAccount: Sendable {
    package let user: ID

    /// The stored hash that the password was verified against, or nil for a guest, which has none. The database checks
    /// that it is still the stored one, so that a password that was changed meanwhile opens no session.
    let passwordHash: String?
}
