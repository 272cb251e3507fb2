internal import Crypto
internal import FoundationEssentials
internal import JWTKit

/// What signs and verifies access tokens: a shared secret, or a set of public keys.
public struct TokenKeys: Sendable {
    private let keys: JWTKeyCollection
    private let source: Source
    private let issuer: String
    private let audience: String

    /// How far a client's or another server's clock may be off, in seconds.
    private static let skew: Double = 30

    /// The year 10,000, which the protocol's timestamps do not reach.
    private static let endOfTime: Double = 253_402_300_800

    private enum Source: Sendable {
        /// One secret, which signs and verifies. Our own tokens name no key; Supabase's name theirs.
        case secret(SymmetricKey, ignoringKeyID: Bool)

        /// Another server's public keys, by their `kid`, each for the one algorithm that it names.
        case published([String: String])
    }

    /// The shortest that a shared secret may be.
    public static let minSecretBytes = 32

    /// Keys of a shared secret (HS256).
    ///
    /// - Parameter ignoringKeyID: whether a token may carry a `kid`, as those of another server do.
    /// - Throws: `TokenKeysError` when the secret is shorter than ``minSecretBytes``.
    public init(secret: String, issuer: String, audience: String, ignoringKeyID: Bool = false) async throws {
        guard secret.utf8.count >= Self.minSecretBytes else { throw TokenKeysError.shortSecret }
        keys = await JWTKeyCollection().add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256)
        source = .secret(SymmetricKey(data: Array(secret.utf8)), ignoringKeyID: ignoringKeyID)
        self.issuer = issuer
        self.audience = audience
    }

    /// Keys of a JWK set (RFC 7517). The keys for RS256 and ES256 that have a `kid` are used, and every other key is
    /// ignored.
    ///
    /// - Throws: `TokenKeysError` if the set cannot be read or has no key that can be used.
    public init(jwks: String, issuer: String, audience: String) async throws {
        let set = try await PublicKeys(jwks, for: ["RS256", "ES256"])
        keys = set.keys
        source = .published(set.algorithms)
        self.issuer = issuer
        self.audience = audience
    }

    /// Signs a token of ours.
    func sign(_ token: AccessToken) async throws -> String {
        try await keys.sign(token)
    }

    /// The claims of a token, after its signature and each of them was found good.
    ///
    /// - Throws: `invalid_token`, or `token_expired` for one that was good.
    func verify(_ text: String, now: Date = .now) async throws(ProtocolError) -> VerifiedToken {
        guard TokenForm.isSafe(text) else { throw .invalidToken }
        let token: AccessToken
        do {
            let parsed = try DefaultJWTParser().parse(Array(text.utf8), as: AccessToken.self)
            guard accepts(parsed.header) else { throw ProtocolError.invalidToken }
            switch source {
            case .secret(let key, _):
                // By ourselves: the collection would read the token once more, and on other threads.
                guard Self.isSignature(parsed.signature, of: text, by: key) else { throw ProtocolError.invalidToken }
                token = parsed.payload
            case .published: token = try await keys.verify(text, as: AccessToken.self)
            }
        } catch {
            throw .invalidToken
        }
        let time = now.timeIntervalSince1970
        guard token.iss == issuer, token.aud.names.contains(audience), token.role == "authenticated",
            let user = ID(token.sub), token.sessionID == nil || token.session != nil,
            (token.nbf ?? 0) <= time + Self.skew, (token.iat ?? 0) <= time + Self.skew, token.exp < Self.endOfTime
        else { throw .invalidToken }
        guard time < token.exp + Self.skew else {
            throw ProtocolError(
                .tokenExpired, "The token has expired: get a fresh one with auth.refresh or auth.login.")
        }
        return VerifiedToken(
            user: user, session: token.session, isGuest: token.isAnonymous ?? false, expires: token.exp,
            remaining: token.exp > time ? token.exp - time : token.exp + Self.skew - time)
    }

    /// Whether it is the HMAC-SHA256 of all that stands before it; takes the same time whatever it is.
    private static func isSignature(_ signature: Data, of text: String, by key: SymmetricKey) -> Bool {
        guard let end = text.utf8.lastIndex(of: UInt8(ascii: ".")) else { return false }
        return HMAC<SHA256>.isValidAuthenticationCode(
            signature, authenticating: Array(text.utf8[..<end]), using: key)
    }

    /// One key, one algorithm: what the header asks for never chooses how a key is used.
    ///
    /// Nor is there anything in a header that must be understood: what `crit` names we would have to (RFC 7515,
    /// 4.1.11).
    private func accepts(_ header: JWTHeader) -> Bool {
        guard header.fields["crit"] == nil else { return false }
        return switch source {
        case .secret(_, let ignoringKeyID): header.alg == "HS256" && (ignoringKeyID || header.kid == nil)
        case .published(let algorithms): header.kid.flatMap { algorithms[$0] }.map { $0 == header.alg } ?? false
        }
    }
}

/// Who a good token speaks for.
struct VerifiedToken: Sendable {
    let user: ID
    let session: ID?
    let isGuest: Bool

    /// When it expires, in seconds since 1970.
    let expires: Double

    /// For how long it is good from now on, in seconds.
    let remaining: Double

    /// The claims that the database reads (`auth.uid()`, `auth.jwt()`), as JSON text.
    var claims: String {
        let session = session.map { #""\#($0)""# } ?? "null"
        return #"{"sub":"\#(user)","role":"authenticated","session_id":\#(session),"is_anonymous":\#(isGuest)}"#
    }

    /// Who asks the database on its behalf.
    var caller: Caller { .user(id: "\(user)", claims: claims) }
}

/// Why keys cannot be used.
public enum TokenKeysError: Error, CustomStringConvertible {
    case shortSecret
    case unreadableKeySet
    case unusableKey

    public var description: String {
        switch self {
        case .shortSecret: "the JWT secret must be at least 32 bytes long"
        case .unreadableKeySet: "the key set is no JWK set: it must be a JSON object with the array \"keys\" (RFC 7517)"
        case .unusableKey:
            "the key set has no usable key: one must have a kid, be for RS256 or ES256, and for signatures"
        }
    }
}

extension AccessToken {
    fileprivate var session: ID? { sessionID.flatMap { ID($0) } }
}

extension ProtocolError {
    static let invalidToken = ProtocolError(.invalidToken, "The token is not valid here: sign in again.")
}
