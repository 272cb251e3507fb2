@testable import Accounts
import Crypto
import CryptoExtras
import Foundation
import JWTKit
import LineClient
import TestSupport
import Testing
@testable import WireProtocol

@Suite("Forged access tokens", .timeLimit(.minutes(20)))
struct ForgedTokenTests {
    private static func part(_ text: String) -> String { part(Data(text.utf8)) }

    private static func part(_ bytes: Data) -> String {
        bytes.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").filter { $0 != "=" }
    }

    /// Returns a token of a header and claims, signed with the secret as HS256.
    private static func token(_ header: String, _ claims: String, secret: String = TestNode.secret) -> String {
        let text = "\(part(header)).\(part(claims))"
        let key = SymmetricKey(data: Data(secret.utf8))
        return "\(text).\(part(Data(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key))))"
    }

    @Test(
        "row 43: rejects no algorithm, another one, and any key id", .covers("A24"))
    func headers() async throws {
        try await withNode { node in
            let session = try await Self.session(node)
            let claims = Self.claims(session: session)
            // The test's signature is valid, so that below the header is the reason of the refusal.
            let good = Self.token(#"{"alg":"HS256","typ":"JWT"}"#, claims)
            try await node.connect().call("session.authenticate", ["access_token": .string(good)])
            let client = try await node.connect()
            var forged: [String] = []
            for header in [
                #"{"alg":"none"}"#, #"{"alg":"None","typ":"JWT"}"#, #"{"alg":""}"#, #"{"typ":"JWT"}"#, "{}", "[]",
                #"{"alg":"HS384"}"#, #"{"alg":"RS256"}"#, #"{"alg":"hs256"}"#, #"{"alg":["HS256"]}"#,
                #"{"alg":"HS256","kid":"unknown"}"#, #"{"alg":"HS256","kid":"../../../../dev/null"}"#,
                #"{"alg":"HS256","kid":"x' union select 'secret' --"}"#, #"{"alg":"HS256","kid":""}"#,
            ] {
                forged.append(Self.token(header, claims))
                forged.append("\(Self.part(header)).\(Self.part(claims)).")
            }
            for token in forged {
                try await client.refused(.invalidToken, "session.authenticate", ["access_token": .string(token)])
            }
            try await client.refused(.unauthenticated, "me.get")
        }
    }

    @Test(
        "row 56: rejects a correctly signed token with crit")
    func criticalHeaders() async throws {
        let critical = [
            #""crit":["exp"]"#, #""crit":["b64"],"b64":false"#, #""crit":["b64"],"b64":true"#, #""crit":["alg"]"#,
            #""crit":["http://example.com/x"],"http://example.com/x":true"#, #""crit":[]"#, #""crit":"exp""#,
            #""crit":null"#, #""crit":{}"#, #""crit":["exp"],"crit":null"#,
        ]
        try await withNode { node in
            let claims = Self.claims(session: try await Self.session(node))
            let client = try await node.connect()
            for member in critical {
                let token = Self.token(#"{"alg":"HS256","typ":"JWT",\#(member)}"#, claims)
                try await client.refused(.invalidToken, "session.authenticate", ["access_token": .string(token)])
            }
            try await client.refused(.unauthenticated, "me.get")
            // Unknown header members without `crit` are ignored.
            let good = Self.token(#"{"alg":"HS256","typ":"JWT","x":["crit"]}"#, claims)
            try await client.call("session.authenticate", ["access_token": .string(good)])
        }
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let primitives = try key.publicKey.getKeyPrimitives()
        let (modulus, exponent) = (Self.part(primitives.modulus), Self.part(primitives.publicExponent))
        let jwk = #"{"kty":"RSA","kid":"r1","alg":"RS256","n":"\#(modulus)","e":"\#(exponent)"}"#
        let keys = try await TokenKeys(jwks: #"{"keys":[\#(jwk)]}"#, issuer: "postline", audience: "authenticated")
        try await withNode(NodeSettings(accountProvider: .external, keys: keys)) { node in
            let client = try await node.connect()
            for member in critical {
                let token = try Self.token(
                    #"{"alg":"RS256","kid":"r1",\#(member)}"#, Self.claims(session: nobody), key: key)
                try await client.refused(.invalidToken, "session.authenticate", ["access_token": .string(token)])
            }
        }
    }

    @Test("row 43: rejects missing, wrong and mistyped claims", .covers("A24"))
    func claims() async throws {
        try await withNode { node in
            let session = try await Self.session(node)
            let good = Self.claims(session: session)
            let client = try await node.connect()
            let later = Int(Date.now.timeIntervalSince1970) + 3600
            let changes: [(String, String)] = [
                ("aud", ""), ("aud", #""other""#), ("aud", "[]"), ("aud", "null"), ("iss", ""), ("iss", #""other""#),
                ("iss", "7"), ("sub", ""), ("sub", #""""#), ("sub", #""alice""#), ("sub", #""' or true --""#),
                ("exp", ""),
                ("exp", "\"\(later)\""), ("exp", "null"), ("exp", "1e400"),
                ("exp", "1e300"), ("exp", "253402300800"), ("nbf", "\(later)"), ("nbf", #""x""#),
                ("iat", "\(later)"), ("role", ""), ("role", #""service_role""#), ("session_id", ""),
                ("session_id", #""x""#), ("app_metadata", String(repeating: "[", count: 20_000)),
                ("app_metadata", String(repeating: "[", count: 10_000) + String(repeating: "]", count: 10_000)),
            ]
            for (name, value) in changes {
                let token = Self.token(
                    #"{"alg":"HS256","typ":"JWT"}"#, Self.claims(session: session, with: name, value))
                let error = try await client.refused(
                    .invalidToken, "session.authenticate", ["access_token": .string(token)])
                #expect(error != nil, "\(name): \(value)")
                // The claims are not trusted without a valid signature.
                try await client.refused(
                    .invalidToken, "session.authenticate", ["access_token": .string("\(token.dropLast(2))AA")])
            }
            let endless = Self.token(
                #"{"alg":"HS256","typ":"JWT"}"#, Self.claims(session: session, with: "exp", "253402300799"))
            let answer = try await node.connect().call("session.authenticate", ["access_token": .string(endless)])
            #expect(answer["expires_at"] == "9999-12-31T23:59:59.000000Z")
            for claims in ["", "x", "[]", "null", good + "x"] {
                let token = Self.token(#"{"alg":"HS256","typ":"JWT"}"#, claims)
                try await client.refused(.invalidToken, "session.authenticate", ["access_token": .string(token)])
            }
        }
    }

    @Test(
        "row 43: uses each published key for its own algorithm only")
    func publishedKeys() async throws {
        let key = ES256PrivateKey()
        let parameters = try #require(key.parameters)
        let jwk = #"{"kty":"EC","crv":"P-256","kid":"k1","alg":"ES256","x":"\#(parameters.x)","y":"\#(parameters.y)"}"#
        let keys = try await TokenKeys(jwks: #"{"keys":[\#(jwk)]}"#, issuer: "postline", audience: "authenticated")
        try await withNode(NodeSettings(accountProvider: .external, keys: keys)) { node in
            let claims = TestToken(sub: Person.alice.id, session_id: nil)
            let signer = await JWTKeyCollection().add(ecdsa: key, kid: "k1").add(ecdsa: key, kid: "k2")
            let client = try await node.connect()
            let text = Self.claims(session: nobody)
            var forged = [try await signer.sign(claims, kid: "k2")]
            for secret in [key.publicKey.pemRepresentation, jwk, parameters.x, "k1", ""] {
                for header in [#"{"alg":"HS256","kid":"k1"}"#, #"{"alg":"ES256","kid":"k1"}"#, #"{"alg":"HS256"}"#] {
                    forged.append(Self.token(header, text, secret: secret))
                }
            }
            forged.append("\(Self.part(#"{"alg":"none","kid":"k1"}"#)).\(Self.part(text)).")
            for token in forged {
                try await client.refused(.invalidToken, "session.authenticate", ["access_token": .string(token)])
            }
            let good = try await signer.sign(claims, kid: "k1")
            try await client.call("session.authenticate", ["access_token": .string(good)])
            #expect(try await client.call("me.get")["username"] == "alice")
        }
    }

    @Test("row 43: rejects a published RSA key used as an HMAC secret")
    func publishedRSAKey() async throws {
        let key = try _RSA.Signing.PrivateKey(keySize: .bits2048)
        let primitives = try key.publicKey.getKeyPrimitives()
        let modulus = Self.part(primitives.modulus)
        let jwk =
            #"{"kty":"RSA","kid":"r1","alg":"RS256","n":"\#(modulus)","e":"\#(Self.part(primitives.publicExponent))"}"#
        let keys = try await TokenKeys(jwks: #"{"keys":[\#(jwk)]}"#, issuer: "postline", audience: "authenticated")
        try await withNode(NodeSettings(accountProvider: .external, keys: keys)) { node in
            let text = Self.claims(session: nobody)
            let client = try await node.connect()
            var forged: [String] = []
            let pem = key.publicKey.pemRepresentation
            for secret in [
                pem, pem + "\n", String(decoding: key.publicKey.derRepresentation, as: UTF8.self), jwk, modulus, "r1",
                "",
            ] {
                for header in [#"{"alg":"HS256","kid":"r1"}"#, #"{"alg":"RS256","kid":"r1"}"#, #"{"alg":"HS256"}"#] {
                    forged.append(Self.token(header, text, secret: secret))
                }
            }
            // Signed with the right key, but naming another.
            for header in [
                #"{"alg":"RS256"}"#, #"{"alg":"RS256","kid":"unknown"}"#, #"{"alg":"RS256","kid":"../../etc/passwd"}"#,
                #"{"alg":"RS256","kid":"/dev/null"}"#, #"{"alg":"RS256","kid":"r1' or '1'='1"}"#,
                #"{"alg":"RS256","kid":"R1"}"#, #"{"alg":"RS256","kid":["r1"]}"#, #"{"alg":"ES256","kid":"r1"}"#,
                #"{"alg":"PS256","kid":"r1"}"#, #"{"alg":"none","kid":"r1"}"#,
            ] {
                forged.append(try Self.token(header, text, key: key))
            }
            for token in forged {
                try await client.refused(.invalidToken, "session.authenticate", ["access_token": .string(token)])
            }
            let good = try Self.token(#"{"alg":"RS256","kid":"r1"}"#, text, key: key)
            try await client.call("session.authenticate", ["access_token": .string(good)])
            #expect(try await client.call("me.get")["username"] == "alice")
        }
    }

    /// Returns a token of a header and claims, signed with the key as RS256.
    private static func token(_ header: String, _ claims: String, key: _RSA.Signing.PrivateKey) throws -> String {
        let text = "\(part(header)).\(part(claims))"
        let signature = try key.signature(for: SHA256.hash(data: Data(text.utf8)), padding: .insecurePKCS1v1_5)
        return "\(text).\(part(signature.rawRepresentation))"
    }

    private static func session(_ node: TestNode) async throws -> String {
        let tokens = try await node.connect().logIn(Person.alice.email)
        return try #require(try await node.connect().authenticate(tokens)["session_id"]?.stringValue)
    }

    /// Returns valid claims as JSON with another value for one. An empty value removes it.
    private static func claims(session: String, with name: String? = nil, _ value: String = "") -> String {
        let now = Int(Date.now.timeIntervalSince1970)
        var members = [
            ("sub", "\"\(Person.alice.id)\""), ("aud", #""authenticated""#), ("role", #""authenticated""#),
            ("iss", #""postline""#), ("iat", "\(now)"), ("exp", "\(now + 3600)"), ("session_id", "\"\(session)\""),
        ].filter { $0.0 != name }
        if let name, !value.isEmpty { members.append((name, value)) }
        return "{" + members.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ",") + "}"
    }
}
