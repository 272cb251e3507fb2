package import Crypto
import FoundationEssentials
package import Foundations

/// A refresh token: one generation of a session.
///
/// Tokens are derived, not stored: a session's generation always has the same token. A client that lost the answer can
/// get it again, and no table contains usable tokens.
package struct RefreshToken: Equatable {
    package let session: ID
    package let generation: Int32

    package init(session: ID, generation: Int32) {
        self.session = session
        self.generation = generation
    }

    /// Parses `<session>.<generation>.<code>`. Fails if the code was not made with this key.
    package init?(_ text: String, key: SymmetricKey) {
        guard text.utf8.count <= Self.maxBytes else { return nil }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 3, let session = ID(String(parts[0])), let generation = Int32(parts[1]), generation >= 0,
            let code = [UInt8](hexadecimal: parts[2])
        else { return nil }
        self.init(session: session, generation: generation)
        guard
            HMAC<SHA256>.isValidAuthenticationCode(code, authenticating: Array(subject.utf8), using: key)
        else { return nil }
    }

    /// The length of a token with the largest generation.
    private static let maxBytes = 36 + 1 + 10 + 1 + 64

    package func text(key: SymmetricKey) -> String {
        let code = HMAC<SHA256>.authenticationCode(for: Array(subject.utf8), using: key)
        return "\(subject).\(code.hexadecimal)"
    }

    private var subject: String { "\(session).\(generation)" }
}
