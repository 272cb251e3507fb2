import Crypto
package import DatabaseAccess
package import FoundationEssentials
package import Foundations
package import WireProtocol

/// The keys that sign and verify access tokens: a shared secret or a set of public keys. Claims have Supabase's names
/// and shapes.
package struct TokenKeys: Sendable {
    private let source: Source
    private let issuer: String
    private let audience: String

    private enum Source: Sendable {
        /// A secret that signs and verifies (HS256). Our own tokens have no `kid`; Supabase's have one.
        case secret(SymmetricKey, ignoringKeyID: Bool)

        /// Another server's public keys.
        case published(PublicKeys)
    }

    /// The least length of a shared secret, in bytes.
    package static let minSecretBytes = 32

    /// Creates keys from a shared secret (HS256).
    ///
    /// - Parameter ignoringKeyID: true if tokens may have a `kid`, as another server's do.
    /// - Throws: `TokenKeysError` if the secret is shorter than ``minSecretBytes``.
    package init(secret: String, issuer: String, audience: String, ignoringKeyID: Bool = false) throws {
        guard secret.utf8.count >= Self.minSecretBytes else { throw TokenKeysError.shortSecret }
        source = .secret(SymmetricKey(data: Array(secret.utf8)), ignoringKeyID: ignoringKeyID)
        self.issuer = issuer
        self.audience = audience
    }

    /// Creates keys from a JWK set (RFC 7517). Uses the keys for RS256 and ES256 with a `kid`, and ignores all others.
    ///
    /// - Throws: `TokenKeysError` if the set cannot be read or has no usable key.
    package init(jwks: String, issuer: String, audience: String) async throws {
        source = .published(try await PublicKeys(jwks, for: ["RS256", "ES256"]))
        self.issuer = issuer
        self.audience = audience
    }

    /// Returns a signed token with those claims.
    ///
    /// - Throws: `internal_error` for public keys, which cannot sign.
    package func sign(_ claims: JSONObject) throws(ProtocolError) -> String {
        switch source {
        case .secret(let key, _): SignedToken.text(claims: claims, signedBy: key)
        case .published: throw .fault("public keys sign no token")
        }
    }

    /// Verifies the signature and claims of a token.
    ///
    /// - Throws: `invalid_token`; `token_expired` for an otherwise valid token.
    package func verify(_ text: String, now: Date = .now) async throws(ProtocolError) -> VerifiedToken {
        let time = now.timeIntervalSince1970
        guard let verified = await claims(of: text), let claims = try? TokenClaims(verified),
            claims.issuer == issuer, claims.audiences.contains(audience), claims.hasBegun(at: time),
            let user = ID(claims.subject), let ownClaims = try? OwnClaims(claims), ownClaims.role == "authenticated"
        else { throw .invalidToken }
        guard !claims.hasExpired(at: time) else {
            throw ProtocolError(
                .tokenExpired, "The token has expired: get a fresh one with auth.refresh or auth.login.")
        }
        return VerifiedToken(
            user: user, session: ownClaims.session, isGuest: ownClaims.isGuest, expires: claims.expiry,
            remaining: claims.expiry - time + (claims.expiry > time ? 0 : TokenClaims.skew))
    }

    /// Returns the claims of a token with a valid signature. The header never chooses how a key is used: each key has
    /// one algorithm.
    private func claims(of text: String) async -> JSONObject? {
        guard let token = SignedToken(text) else { return nil }
        switch source {
        case .secret(let key, let ignoringKeyID):
            guard token.algorithm == "HS256", ignoringKeyID || token.header["kid"] == nil else { return nil }
            return token.claims(verifiedBy: key)
        case .published(let keys): return await token.claims(verifiedBy: keys)
        }
    }
}

/// The user and session of a verified token.
package struct VerifiedToken: Sendable {
    package let user: ID
    package let session: ID?
    package let isGuest: Bool

    /// The expiry, in seconds since 1970.
    package let expires: Double

    /// The remaining validity when the token was verified, in seconds.
    package let remaining: Double

    /// The claims that the database reads (`auth.uid()`, `auth.jwt()`), as JSON text.
    package var claims: String {
        let session = session.map { #""\#($0)""# } ?? "null"
        return #"{"sub":"\#(user)","role":"authenticated","session_id":\#(session),"is_anonymous":\#(isGuest)}"#
    }

    /// The caller of database functions.
    package var caller: Caller { .user(id: "\(user)", claims: claims) }
}

/// The reason why keys cannot be used.
package enum TokenKeysError: Error, CustomStringConvertible {
    case shortSecret
    case unreadableKeySet
    case unusableKey

    package var description: String {
        switch self {
        case .shortSecret: "the JWT secret must be at least 32 bytes long"
        case .unreadableKeySet: "the key set is no JWK set: it must be a JSON object with the array \"keys\" (RFC 7517)"
        case .unusableKey:
            "the key set has no usable key: one must have a kid, be for RS256 or ES256, and for signatures"
        }
    }
}

/// The claims of an access token that are not registered.
private struct OwnClaims {
    let role: String?
    let session: ID?
    let isGuest: Bool

    /// - Throws: `InvalidClaim` if a claim has another type, or the session is not a UUID.
    init(_ claims: TokenClaims) throws(InvalidClaim) {
        role = try claims.string("role")
        let text = try claims.string("session_id")
        session = text.flatMap { ID($0) }
        guard text == nil || session != nil else { throw InvalidClaim() }
        isGuest = try claims.bool("is_anonymous") ?? false
    }
}

extension ProtocolError {
    package static let invalidToken = ProtocolError(.invalidToken, "The token is not valid here: sign in again.")
}
