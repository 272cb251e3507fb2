@testable import Accounts
import Crypto
import Foundation
import JWTKit
import Testing
@testable import WireProtocol

@Suite("Access token")
struct TokenKeysTests {
    private static let secret = "0123456789abcdef0123456789abcdef"
    private let now = Date(timeIntervalSince1970: 1_000_000)

    @Test("accepts its own tokens and returns the remaining time")
    func good() async throws {
        let token = try await keys().verify(try await signed(), now: now)
        #expect(token.remaining == 60 && token.isGuest == false && token.session != nil)
    }

    @Test(
        "rejects a wrong claim",
        arguments: [
            ("aud", JSONClaim.string("other")), ("aud", .null), ("aud", .array([])),
            ("aud", .array(["other"])), ("iss", .string("other")), ("iss", .null),
            ("sub", .string("admin")), ("sub", .null), ("role", .string("service_role")), ("role", .null),
            ("exp", .string("1000060")), ("exp", .null), ("exp", .number(1e300)), ("nbf", .number(1_000_031)),
            ("iat", .number(1_000_031)),
            ("session_id", .string("x' or true")),
        ])
    func claims(name: String, value: JSONClaim) async throws {
        let token = try await signed([name: value])
        let error = await #expect(throws: ProtocolError.self) { try await keys().verify(token, now: now) }
        #expect(error?.code == .invalidToken)
    }

    @Test("allows 30 seconds of skew after the expiry")
    func skew() async throws {
        let token = try await signed()
        let late = try await keys().verify(token, now: now + 89)
        #expect(late.remaining == 1)
        let error = await #expect(throws: ProtocolError.self) { try await keys().verify(token, now: now + 90) }
        #expect(error?.code == .tokenExpired)
    }

    @Test("rejects another secret, no algorithm, and a key id")
    func signatures() async throws {
        let good = try await signed()
        let parts = good.split(separator: ".")
        let header = Data(#"{"alg":"none","typ":"JWT"}"#.utf8).base64EncodedString().filter { $0 != "=" }
        let forged = [
            try await signed(secret: "another-secret-of-at-least-32-byte"), "\(header).\(parts[1]).",
            "\(header).\(parts[1]).\(parts[2])", "\(parts[0]).\(parts[1]).\(String(parts[2].reversed()))", "", "a.b.c",
            "..",
            try await signed(keyID: "../../etc/passwd"),
        ]
        for token in forged {
            let error = await #expect(throws: ProtocolError.self) { try await keys().verify(token, now: now) }
            #expect(error?.code == .invalidToken)
        }
    }

    @Test(
        "rejects a nested header or a number in it",
        arguments: [
            #"{"alg":"HS256","x":1e19}"#, #"{"alg":"HS256","x":-1e19}"#, #"{"alg":"HS256","x":1}"#,
            #"{"alg":"HS256","x":{"y":"z"}}"#, #"{"alg":"HS256","x":[1]}"#, "[]", #"{"alg":"HS256","alg":"HS256"}"#,
            #"{"alg":"HS256","x":\#(TokenKeysTests.nested(500))}"#,
            #"{"alg":"HS256","\#(TokenKeysTests.accents)":"x"}"#,
            #"{"alg":"HS256","x":"\#(String(repeating: "x", count: 16_384))"}"#,
        ])
    func headerForm(header: String) {
        #expect(SignedToken("\(Self.part(header)).e30.c2ln") == nil)
    }

    @Test("rejects parts that are not unpadded Base64url", arguments: ["=", "==", "+", "/", " ", "é"])
    func encoding(_ ending: String) {
        let header = Self.part(#"{"alg":"HS256"}"#)
        #expect(SignedToken("\(header).e30.c2ln") != nil)
        #expect(SignedToken("\(header).e30.c2ln\(ending)") == nil)
    }

    @Test(
        "rejects deep or duplicate claims",
        arguments: [
            #""x":\#(TokenKeysTests.nested(400))"#, #""role":"authenticated""#,
        ])
    func claimsForm(member: String) async throws {
        let claims = """
            {"sub":"0195f0ab-1234-4abc-8def-0123456789ab","aud":"authenticated","role":"authenticated",\
            "iss":"postline","exp":1000060
            """
        #expect(try await keys().verify(Self.token(claims + #","x":\#(Self.nested(100))}"#), now: now).remaining == 60)
        let error = await #expect(throws: ProtocolError.self) {
            try await keys().verify(Self.token("\(claims),\(member)}"), now: now)
        }
        #expect(error?.code == .invalidToken)
    }

    @Test("accepts another server's header lists and metadata")
    func foreignForm() async throws {
        let header = #"{"alg":"HS256","x5c":["b","c"],"typ":null,"b64":true}"#
        let claims = #"{"iss":"postline","user_metadata":{"a":[{"b":[1,2.5,null,"é"]}]}}"#
        let token = try #require(SignedToken(Self.token(claims, header: header)))
        #expect(token.claims(verifiedBy: SymmetricKey(data: Data(Self.secret.utf8)))?["user_metadata"] != nil)
        #expect(token.claims(verifiedBy: SymmetricKey(data: Data(Self.secret.utf8.reversed()))) == nil)
    }

    /// Returns a token with those claims, signed with the tests' secret.
    private static func token(_ claims: String, header: String = #"{"alg":"HS256","typ":"JWT"}"#) -> String {
        let signed = "\(part(header)).\(part(claims))"
        let key = SymmetricKey(data: Data(secret.utf8))
        return "\(signed).\(part(Data(HMAC<SHA256>.authenticationCode(for: Data(signed.utf8), using: key))))"
    }

    private static func part(_ text: String) -> String { part(Data(text.utf8)) }

    private static func part(_ bytes: Data) -> String {
        bytes.base64EncodedString().filter { $0 != "=" }.replacing("+", with: "-").replacing("/", with: "_")
    }

    private static func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    private static let accents = "a" + String(repeating: "\u{301}\u{316}", count: 1_000)

    @Test("accepts a key id if allowed")
    func foreignKeyID() async throws {
        let keys = try TokenKeys(
            secret: Self.secret, issuer: "postline", audience: "authenticated", ignoringKeyID: true)
        _ = try await keys.verify(try await signed(keyID: "k1"), now: now)
    }

    @Test("rejects a public key used as a secret, and unknown keys")
    func keySets() async throws {
        let key = ES256PrivateKey()
        let parameters = try #require(key.parameters)
        let jwks = """
            {"keys":[{"kty":"EC","crv":"P-256","kid":"k1","alg":"ES256","x":"\(parameters.x)","y":"\(parameters.y)"}]}
            """
        let keys = try await TokenKeys(jwks: jwks, issuer: "postline", audience: "authenticated")
        let signer = await JWTKeyCollection().add(ecdsa: key, kid: "k1").add(ecdsa: key, kid: "k2")
        _ = try await keys.verify(try await signer.sign(Claims(now: now), kid: "k1"), now: now)
        let bad = [
            try await signer.sign(Claims(now: now), kid: "k2"),
            try await signed(secret: jwks, keyID: "k1"), try await signed(keyID: "k1"), try await signed(),
        ]
        for token in bad {
            let error = await #expect(throws: ProtocolError.self) { try await keys.verify(token, now: now) }
            #expect(error?.code == .invalidToken)
        }
    }

    @Test("rejects a short secret and a key without algorithm")
    func unusableKeys() async {
        #expect(throws: TokenKeysError.self) {
            try TokenKeys(secret: "short", issuer: "postline", audience: "authenticated")
        }
        for jwks in ["", "{}", #"{"keys":[]}"#, #"{"keys":[{"kty":"oct","kid":"k","alg":"HS256","k":"AAAA"}]}"#] {
            await #expect(throws: TokenKeysError.self) {
                try await TokenKeys(jwks: jwks, issuer: "postline", audience: "authenticated")
            }
        }
    }

    // E22
    @Test("ignores keys that it does not understand")
    func foreignKeys() async throws {
        let key = ES256PrivateKey()
        let parameters = try #require(key.parameters)
        let good = #"{"kty":"EC","crv":"P-256","kid":"k1","alg":"ES256","x":"\#(parameters.x)","y":"\#(parameters.y)"}"#
        let point = #""x":"\#(parameters.x)","y":"\#(parameters.y)""#
        let token = try await JWTKeyCollection().add(ecdsa: key, kid: "k1").sign(Claims(now: now), kid: "k1")
        let foreign = [
            #"{"kty":"OKP","crv":"Ed25519","kid":"e","alg":"EdDSA","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            #"{"kty":"OKP","crv":"X25519","kid":"x","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#,
            #"{"kty":"AKP","kid":"m","alg":"ML-DSA-65","pub":"AAAA"}"#, #"{"kty":"new","kid":"n","alg":"N1"}"#,
            #"{"kty":"oct","kid":"o","alg":"HS256","k":"AAAA"}"#, #"{"kty":7}"#, "{}", "null", "7", #""key""#, "[]",
            #"{"kty":"EC","crv":"P-521","kid":"p","alg":"ES512",\#(point)}"#,
            #"{"kty":"EC","crv":"P-521","kid":"p","alg":"ES256",\#(point)}"#,
            #"{"kty":"EC","crv":"secp256k1","kid":"s","alg":"ES256K",\#(point)}"#,
            #"{"kty":"EC","crv":"P-256","alg":"ES256",\#(point)}"#, #"{"kty":"EC","crv":"P-384","kid":"a",\#(point)}"#,
            #"{"kty":"EC","crv":"P-256","kid":"u","alg":"ES256","use":"enc",\#(point)}"#,
            #"{"kty":"EC","crv":"P-256","kid":"v","alg":"ES256","key_ops":["deriveKey"],\#(point)}"#,
            #"{"kty":"EC","crv":"P-256","kid":"w","alg":"ES256","x":"AAAA","y":"AAAA"}"#,
            #"{"kty":"EC","crv":"P-256","kid":5,"alg":"ES256",\#(point)}"#,
            #"{"kty":"RSA","kid":"r","alg":"RSA-OAEP-256","use":"enc","n":"AAAA","e":"AQAB"}"#,
            #"{"kty":"RSA","kid":"q","alg":"RS256","n":"","e":"AQAB"}"#, #"{"kty":"RSA","kid":"t","alg":"RS256"}"#,
            #"{"kty":"RSA","kid":"k1","alg":"ES256","n":"AAAA","e":"AQAB"}"#,
        ]
        func keys(_ set: String) async throws -> TokenKeys {
            try await TokenKeys(jwks: set, issuer: "postline", audience: "authenticated")
        }
        for other in foreign {
            for set in ["\(other),\(good)", "\(good),\(other)"] {
                _ = try await keys(#"{"keys":[\#(set)],"more":1}"#).verify(token, now: now)
            }
            // A set with only that key has no usable key.
            await #expect(throws: TokenKeysError.self, "\(other)") { try await keys(#"{"keys":[\#(other)]}"#) }
        }
        _ = try await keys(#"{"keys":[\#(foreign.joined(separator: ",")),\#(good)]}"#).verify(token, now: now)
        for members in [
            #""use":"sig""#, #""key_ops":["verify"]"#, #""use":"sig","key_ops":["sign","verify"],"x5t":"A""#,
        ] {
            _ = try await keys(#"{"keys":[\#(good.dropLast()),\#(members)}]}"#).verify(token, now: now)
        }
        for text in ["", "{}", "[]", "null", #"{"keys":{}}"#, #"{"keys":null}"#, #"{"keys":[]}"#] {
            await #expect(throws: TokenKeysError.self, "\(text)") { try await keys(text) }
        }
    }

    private func keys() throws -> TokenKeys {
        try TokenKeys(secret: Self.secret, issuer: "postline", audience: "authenticated")
    }

    private func signed(
        _ changes: [String: JSONClaim] = [:], secret: String = secret, keyID: JWKIdentifier? = nil
    ) async throws -> String {
        let keys = await JWTKeyCollection().add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256, kid: keyID)
        return try await keys.sign(Claims(now: now, changes), kid: keyID)
    }
}

/// Claims of any shape, for JWTKit.
private struct Claims: JWTPayload {
    let all: [String: JSONClaim]

    init(now: Date, _ changes: [String: JSONClaim] = [:]) {
        let good: [String: JSONClaim] = [
            "sub": .string("0195f0ab-1234-4abc-8def-0123456789ab"), "aud": .string("authenticated"),
            "role": .string("authenticated"), "iss": .string("postline"), "iat": .number(now.timeIntervalSince1970),
            "exp": .number(now.timeIntervalSince1970 + 60),
            "session_id": .string("0195f0ab-1234-4abc-8def-0123456789ac"), "is_anonymous": .bool(false),
        ]
        all = good.merging(changes) { _, changed in changed }
    }

    init(from decoder: any Decoder) throws { all = try decoder.singleValueContainer().decode([String: JSONClaim].self) }
    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer(); try container.encode(all)
    }
    func verify(using algorithm: some JWTAlgorithm) async throws {}
}

/// The value of a claim, of any type.
enum JSONClaim: Codable, Sendable {
    case null
    case bool(Bool)
    case number(Double)
    case string(String)
    case array([String])

    init(from decoder: any Decoder) throws { self = .null }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .null: try container.encodeNil()
        case .bool(let value): try container.encode(value)
        case .number(let value): try container.encode(value)
        case .string(let value): try container.encode(value)
        case .array(let value): try container.encode(value)
        }
    }
}
