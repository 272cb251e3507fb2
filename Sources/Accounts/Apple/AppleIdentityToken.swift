import Crypto
import Foundations
import WireProtocol

/// The claims of an Apple identity token that the server uses.
struct AppleIdentityToken {
    let claims: TokenClaims
    let nonce: String?

    /// The email address in lower case. Nil if Apple has not verified it, or it has a NUL, which PostgreSQL cannot store.
    let email: String?

    /// - Throws: `InvalidClaim` if a claim is missing or has another type.
    init(_ verified: JSONObject) throws(InvalidClaim) {
        claims = try TokenClaims(verified)
        nonce = try claims.string("nonce")
        // Apple also writes this boolean as a string.
        let isVerified = (try? claims.bool("email_verified")) ?? ((try? claims.string("email_verified")) == "true")
        let address = try claims.string("email")?.lowercasedASCII
        email = isVerified && address?.utf8.contains(0) == false ? address : nil
    }

    /// Returns true if the token has that nonce or its SHA-256, or neither has a nonce.
    func matchesNonce(_ given: String?) -> Bool {
        guard let nonce, let given else { return nonce == nil && given == nil }
        return nonce == given || nonce == SHA256.hash(data: Array(given.utf8)).hexadecimal
    }
}
