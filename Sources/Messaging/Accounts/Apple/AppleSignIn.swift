internal import Crypto
internal import FoundationEssentials
internal import JWTKit
public import Logging

/// Sign in with Apple: what verifies Apple's identity tokens (Apple, "Verifying a user").
public struct AppleSignIn: Sendable {
    private let clients: Set<String>
    private let keys: AppleKeys

    /// Who signs identity tokens.
    static let issuer = "https://appleid.apple.com"

    /// The algorithms that Apple signs identity tokens by.
    static let algorithms: Set<String> = ["RS256"]

    /// How far Apple's clock and ours may be apart, in seconds.
    private static let skew: Double = 30

    /// How old a token may be that stands in a password's place, in seconds.
    private static let freshness: Double = 600

    /// The year 10,000, which the protocol's timestamps do not reach.
    private static let endOfTime: Double = 253_402_300_800

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

    /// Who a token speaks of, after its signature and each of its claims were found good.
    ///
    /// - Parameters:
    ///   - nonce: what the app gave Apple, or what it gave Apple the SHA-256 of; nil where it gave none.
    ///   - isFresh: whether it must be of the last ten minutes.
    /// - Throws: `invalid_token`, `token_expired` for one that was good, `unavailable`.
    func verify(
        _ text: String, nonce: String?, isFresh: Bool = false, now: Date = .now
    ) async throws(ProtocolError) -> AppleIdentity {
        guard TokenForm.isSafe(text) else { throw .invalidIdentityToken }
        let token: AppleIdentityToken
        do {
            let header = try DefaultJWTParser().parse(Array(text.utf8), as: AppleIdentityToken.self).header
            // One algorithm, and nothing that must be understood (RFC 7515, 4.1.11).
            guard header.alg == "RS256", header.fields["crit"] == nil, let kid = header.kid, kid.utf8.count <= 128
            else {
                throw ProtocolError.invalidIdentityToken
            }
            token = try await keys.keys(with: kid).keys.verify(text, as: AppleIdentityToken.self)
        } catch let error as ProtocolError {
            throw error
        } catch {
            throw .invalidIdentityToken
        }
        let time = now.timeIntervalSince1970
        guard token.iss == Self.issuer, token.aud.names.count == 1, clients.contains(token.aud.names[0]),
            (1...255).contains(token.sub.utf8.count), !token.sub.utf8.contains(0),
            token.iat <= time + Self.skew, (token.nbf ?? 0) <= time + Self.skew, token.exp < Self.endOfTime
        else { throw .invalidIdentityToken }
        guard token.isAnswer(to: nonce) else {
            throw ProtocolError(
                .invalidToken, "The nonce is not the token's.", data: [.init(name: "field", value: .string("nonce"))])
        }
        guard time < token.exp + Self.skew, !isFresh || time < token.iat + Self.freshness else {
            throw ProtocolError(.tokenExpired, "The token is too old: sign in with Apple again.")
        }
        return AppleIdentity(
            subject: token.sub, email: token.isEmailVerified?.value == true ? token.email?.lowercasedASCII : nil,
            hash: Self.hash(of: text), expires: token.exp + Self.skew)
    }

    /// Of what is signed: a signature can be written in more than one way.
    private static func hash(of text: String) -> String {
        let end = text.utf8.lastIndex(of: UInt8(ascii: ".")) ?? text.endIndex
        return SHA256.hash(data: Array(text.utf8[..<end])).hexadecimal
    }
}

/// Who a good token of Apple's speaks of.
struct AppleIdentity: Sendable {
    let subject: String

    /// Nil where Apple has not verified it.
    let email: String?

    /// What the token is known by, once it was used: hexadecimal digits.
    let hash: String

    /// Until when it has to be known, in seconds since 1970.
    let expires: Double
}

extension ProtocolError {
    static let invalidIdentityToken = ProtocolError(
        .invalidToken, "That is no token of Apple's for this app.",
        data: [.init(name: "field", value: .string("identity_token"))])
}
