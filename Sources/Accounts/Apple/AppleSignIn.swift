import Crypto
package import FoundationEssentials
import Foundations
package import Logging
package import WireProtocol

/// Verifies Apple's identity tokens for Sign in with Apple (Apple, "Verifying a user").
package struct AppleSignIn: Sendable {
    private let clients: Set<String>
    private let keys: AppleKeys

    /// The issuer of identity tokens.
    package static let issuer = "https://appleid.apple.com"

    /// The algorithms that Apple signs identity tokens with.
    static let algorithms: Set<String> = ["RS256"]

    /// The greatest age of a token that is used in place of a password, in seconds.
    private static let freshness: Double = 600

    /// - Parameters:
    ///   - clients: the apps' bundle ids.
    ///   - source: the source of Apple's keys.
    package init(clients: Set<String>, source: any KeySetSource, logger: Logger) {
        self.init(clients: clients, keys: AppleKeys(source, logger: logger))
    }

    init(clients: Set<String>, keys: AppleKeys) {
        self.clients = clients
        self.keys = keys
    }

    /// Returns the number of usable keys of a source.
    ///
    /// - Throws: an error that describes why there are none.
    package static func countKeys(of source: any KeySetSource) async throws -> Int {
        try await PublicKeys(try await source.fetch().text, for: algorithms).names.count
    }

    /// Verifies the signature and claims of an identity token.
    ///
    /// - Parameters:
    ///   - nonce: the nonce that the app sent to Apple, or whose SHA-256 it sent; nil if it sent none.
    ///   - isFresh: true if the token must have been issued within the last ten minutes.
    /// - Throws: `invalid_token`; `token_expired` for an otherwise valid token; `unavailable`.
    package func verify(
        _ text: String, nonce: String?, isFresh: Bool = false, now: Date = .now
    ) async throws(ProtocolError) -> AppleIdentity {
        // Another algorithm is rejected before keys are fetched.
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
        guard token.matchesNonce(nonce) else {
            throw ProtocolError(
                .invalidToken, "The nonce does not match the token.",
                data: [.init(name: "field", value: .string("nonce"))])
        }
        guard !claims.hasExpired(at: time), !isFresh || time < issuedAt + Self.freshness else {
            throw ProtocolError(.tokenExpired, "The token is too old: sign in with Apple again.")
        }
        return AppleIdentity(
            subject: claims.subject, email: token.email, hash: SHA256.hash(data: signed.signedBytes).hexadecimal,
            expires: claims.expiry + TokenClaims.skew)
    }
}

/// The user of a verified Apple identity token.
package struct AppleIdentity: Sendable {
    package let subject: String

    /// Nil if Apple has not verified the address.
    package let email: String?

    /// The SHA-256 of the signed part, in hexadecimal digits. The signature is left out, as it has several encodings.
    package let hash: String

    /// The time until which a used token must be remembered, in seconds since 1970.
    package let expires: Double
}

extension ProtocolError {
    static let invalidIdentityToken = ProtocolError(
        .invalidToken, "This is not an Apple identity token for this app.",
        data: [.init(name: "field", value: .string("identity_token"))])
}
