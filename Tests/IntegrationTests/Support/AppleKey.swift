import Accounts
import Crypto
import CryptoExtras
import Foundation
import LineClient
import WireProtocol

/// A key that signs identity tokens like Apple's.
struct AppleKey: Sendable {
    static let app = "com.example.postline"

    let id: String
    let key: _RSA.Signing.PrivateKey

    init(_ id: String) throws {
        self.id = id
        key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
    }

    /// The public key as a member of a key set.
    var jwk: String {
        get throws {
            let primitives = try key.publicKey.getKeyPrimitives()
            let (modulus, exponent) = (Self.part(primitives.modulus), Self.part(primitives.publicExponent))
            return #"{"kty":"RSA","kid":"\#(id)","use":"sig","alg":"RS256","n":"\#(modulus)","e":"\#(exponent)"}"#
        }
    }

    /// Returns a verifier that accepts its tokens.
    func signIn() throws -> AppleSignIn {
        struct Keys: KeySetSource {
            let text: String
            func fetch() async throws -> FetchedKeySet { FetchedKeySet(text: text, lifetime: nil) }
        }
        return AppleSignIn(clients: [Self.app], source: Keys(text: try Self.set([self])), logger: .quiet)
    }

    /// Returns a key set of these keys, before which are keys that no version of the server understands (E22).
    static func set(_ keys: [AppleKey]) throws -> String {
        let others = [#"{"kty":"AKP","kid":"later","alg":"ML-DSA-65","pub":"AA"}"#, #"{"kid":"no type"}"#, "7"]
        return #"{"keys":[\#((others + (try keys.map { try $0.jwk })).joined(separator: ","))]}"#
    }

    /// Returns a valid token of a subject with changed claims. An empty value omits the claim.
    func token(_ subject: String, _ changes: [String: String] = [:], header: String? = nil) throws -> String {
        let text = "\(Self.part(header ?? self.header)).\(Self.claims(subject, changes))"
        let signature = try key.signature(for: SHA256.hash(data: Data(text.utf8)), padding: .insecurePKCS1v1_5)
        return "\(text).\(Self.part(signature.rawRepresentation))"
    }

    var header: String { #"{"alg":"RS256","kid":"\#(id)"}"# }

    /// Returns a token signed as HS256 with a secret, or unsigned without one.
    static func token(_ subject: String, header: String, secret: String?) -> String {
        let text = "\(part(header)).\(claims(subject, [:]))"
        guard let secret else { return "\(text)." }
        let key = SymmetricKey(data: Data(secret.utf8))
        return "\(text).\(part(Data(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key))))"
    }

    private static func claims(_ subject: String, _ changes: [String: String]) -> String {
        let now = Int(Date.now.timeIntervalSince1970)
        var claims = [
            "iss": #""https://appleid.apple.com""#, "aud": #""\#(app)""#, "sub": #""\#(subject)""#, "iat": "\(now)",
            "exp": "\(now + 86_400)", "email": #""\#(subject)@privaterelay.appleid.com""#,
            "email_verified": #""true""#, "jti": #""\#(UUID().uuidString)""#,
        ]
        claims.merge(changes) { $1 }
        return part(
            Data("{\(claims.filter { !$0.value.isEmpty }.map { "\"\($0)\":\($1)" }.joined(separator: ","))}".utf8))
    }

    private static func part(_ text: String) -> String { part(Data(text.utf8)) }

    private static func part(_ bytes: Data) -> String {
        bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").filter { $0 != "=" }
    }
}

extension TestClient {
    /// Signs in with an Apple token.
    @discardableResult
    func signIn(apple token: String, guest: JSON? = nil, _ others: JSONObject = [:]) async throws -> JSON {
        var members: [JSONObject.Member] = [.init(name: "identity_token", value: .string(token))]
        if let token = guest?["refresh_token"] { members.append(.init(name: "guest_refresh_token", value: token)) }
        return try await call("auth.apple", JSONObject(members + others.members))
    }
}
