import Foundation
import JWTKit
import Testing

@testable import Messaging

@Suite("An access token")
struct TokenKeysTests {
    private static let secret = "0123456789abcdef0123456789abcdef"
    private let now = Date(timeIntervalSince1970: 1_000_000)

    @Test("of ours is good, and says for how long")
    func good() async throws {
        let token = try await keys().verify(try await signed(), now: now)
        #expect(token.remaining == 60 && token.isGuest == false && token.session != nil)
    }

    @Test(
        "with a claim that is not right is refused",
        arguments: [
            ("aud", JSONClaim.string("other")), ("aud", .null), ("aud", .array([])),
            ("aud", .array([.string("other")])), ("iss", .string("other")), ("iss", .null),
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

    @Test("is good for 30 seconds of skew, and expired after them")
    func skew() async throws {
        let token = try await signed()
        let late = try await keys().verify(token, now: now + 89)
        #expect(late.remaining == 1)
        let error = await #expect(throws: ProtocolError.self) { try await keys().verify(token, now: now + 90) }
        #expect(error?.code == .tokenExpired)
    }

    @Test("of another secret, of no algorithm, or with a key id, is refused")
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
        "is read strictly before a library reads it",
        arguments: [
            (#"{"alg":"HS256","x":1e19}"#, "{}"), (#"{"alg":"HS256","x":-1e19}"#, "{}"),
            (#"{"alg":"HS256","x":1}"#, "{}"), (#"{"alg":"HS256","x":{"y":"z"}}"#, "{}"),
            (#"{"alg":"HS256","x":[1]}"#, "{}"), ("[]", "{}"), (#"{"alg":"HS256"}"#, "[]"),
            (#"{"alg":"HS256","x":\#(TokenKeysTests.nested(500))}"#, "{}"),
            (#"{"alg":"HS256"}"#, #"{"app_metadata":\#(TokenKeysTests.nested(400))}"#),
            (#"{"alg":"HS256","\#(TokenKeysTests.accents)":"x"}"#, "{}"),
            (#"{"alg":"HS256"}"#, #"{"\#(TokenKeysTests.accents)":"x"}"#),
            (#"{"alg":"HS256"}"#, #"{"x":"\#(String(repeating: "x", count: 16_384))"}"#),
        ])
    func form(header: String, claims: String) async throws {
        let parts = [header, claims, "signature"].map { part in
            Data(part.utf8).base64EncodedString().filter { $0 != "=" }
                .replacing("+", with: "-").replacing("/", with: "_")
        }
        let token = parts.joined(separator: ".")
        #expect(!TokenForm.isSafe(token))
        let error = await #expect(throws: ProtocolError.self) { try await keys().verify(token, now: now) }
        #expect(error?.code == .invalidToken)
    }

    @Test("of another server has lists of strings in its header, and metadata of any shape")
    func safeForm() {
        let header = #"{"alg":"RS256","kid":"a","x5c":["b","c"],"typ":null,"b64":true}"#
        let claims = #"{"sub":"x","exp":1e19,"user_metadata":{"a":[{"b":[1,2.5,null,"é"]}]}}"#
        let token = [header, claims].map { Data($0.utf8).base64EncodedString().filter { $0 != "=" } }
        #expect(TokenForm.isSafe(token.joined(separator: ".") + ".c2ln"))
    }

    private static func nested(_ depth: Int) -> String {
        String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    }

    private static let accents = "a" + String(repeating: "\u{301}\u{316}", count: 1_000)

    @Test("of another server may name its key where that is allowed")
    func foreignKeyID() async throws {
        let keys = try await TokenKeys(
            secret: Self.secret, issuer: "postline", audience: "authenticated", ignoringKeyID: true)
        _ = try await keys.verify(try await signed(keyID: "k1"), now: now)
    }

    @Test("signed with a public key as if it were a secret is refused, and so is an unknown key")
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

    @Test("cannot be made with a secret that is too short, or verified with a key that has no algorithm")
    func unusableKeys() async {
        await #expect(throws: TokenKeysError.self) {
            try await TokenKeys(secret: "short", issuer: "postline", audience: "authenticated")
        }
        for jwks in ["", "{}", #"{"keys":[]}"#, #"{"keys":[{"kty":"oct","kid":"k","alg":"HS256","k":"AAAA"}]}"#] {
            await #expect(throws: TokenKeysError.self) {
                try await TokenKeys(jwks: jwks, issuer: "postline", audience: "authenticated")
            }
        }
    }

    // E22
    @Test("ignores the keys of a set that are not understood")
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
            // A set of that key alone has none to verify with.
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

    private func keys() async throws -> TokenKeys {
        try await TokenKeys(secret: Self.secret, issuer: "postline", audience: "authenticated")
    }

    private func signed(
        _ changes: [String: JSONClaim] = [:], secret: String = secret, keyID: JWKIdentifier? = nil
    ) async throws -> String {
        let keys = await JWTKeyCollection().add(hmac: HMACKey(from: secret), digestAlgorithm: .sha256, kid: keyID)
        return try await keys.sign(Claims(now: now, changes), kid: keyID)
    }
}

/// Claims of any shape.
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
