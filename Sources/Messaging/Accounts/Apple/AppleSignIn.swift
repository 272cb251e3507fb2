internal import Crypto
internal import FoundationEssentials
public import Logging

/// Sign in with Apple: what verifies Apple's identity tokens (Apple, "Verifying a user").
public struct AppleSignIn: Sendable {
    private let clients: Set<String>
    private let keys: AppleKeys

    /// Who signs identity tokens.
    static let issuer = "https://appleid.apple.com"

    /// The algorithms that Apple signs identity tokens by.
    static let algorithms: Set<String> = ["RS256"]

    /// How old a token may be that stands in a password's place, in seconds.
    private static let freshness: Double = 600

    /// - Parameters:
    ///   - clients: the apps' bundle ids.
    ///   - source: where Apple's keys are.
    public init(clients: Set<String>, source: any KeySetSource, logger: Logger) {
        self.init(clients: clients, keys: AppleKeys(source, logger: logger))
    }

    init(clients: Set<String>, keys: AppleKeys) {
        self.clients = clients
        self.keys = keys
    }

    /// How many keys there are by which tokens can be verified.
    ///
    /// - Throws: why there are none.
    public static func countKeys(of source: any KeySetSource) async throws -> Int {
        try await PublicKeys(try await source.fetch().text, for: algorithms).names.count
    }

    /// Returns whom a token speaks of, after its signature and its claims were verified.
    ///
    /// - Parameters:
    ///   - nonce: what the app gave Apple, or what it gave Apple the SHA-256 of; nil where it gave none.
    ///   - isFresh: whether it must be of the last ten minutes.
    /// - Throws: `invalid_token`, `token_expired` for one that was good, `unavailable`.
    func verify(
        _ text: String, nonce: String?, isFresh: Bool = false, now: Date = .now
    ) async throws(ProtocolError) -> AppleIdentity {
        // A token of another algorithm is refused before keys are fetched for it.
        guard let signed = SignedToken(text), signed.algorithm == "RS256", let kid = signed.keyID,
            kid.utf8.count <= 128
        else { throw .invalidIdentityToken }
        let time = now.timeIntervalSince1970
        guard let verified = await signed.claims(verifiedBy: try await keys.keys(with: kid)),
            let token = try? AppleIdentityToken(verified), case let claims = token.claims,
            claims.issuer == Self.issuer, claims.audiences.count == 1, clients.contains(claims.audiences[0]),
            (1...255).contains(claims.subject.utf8.count), !claims.subject.utf8.contains(0),
            let issuedAt = claims.issuedAt, claims.hasBegun(at: time)
        else { throw .invalidIdentityToken }
        guard token.isAnswer(to: nonce) else {
            throw ProtocolError(
                .invalidToken, "The nonce is not the token's.", data: [.init(name: "field", value: .string("nonce"))])
        }
        guard !claims.hasExpired(at: time), !isFresh || time < issuedAt + Self.freshness else {
            throw ProtocolError(.tokenExpired, "The token is too old: sign in with Apple again.")
        }
        return AppleIdentity(
            subject: claims.subject, email: token.email, hash: SHA256.hash(data: signed.signedBytes).hexadecimal,
            expires: claims.expiry + TokenClaims.skew)
    }
}

/// The user of a verified token of Apple's.
struct AppleIdentity: Sendable {
    let subject: String

    /// Nil where Apple has not verified it.
    let email: String?

    /// The SHA-256 of what is signed, in hexadecimal digits. A signature can be written in more than one way.
    let hash: String

    /// How long a used token must be remembered, in seconds since 1970.
    let expires: Double
}

extension ProtocolError {
    static let invalidIdentityToken = ProtocolError(
        .invalidToken, "That is no token of Apple's for this app.",
        data: [.init(name: "field", value: .string("identity_token"))])
}
