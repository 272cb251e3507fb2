@testable import Accounts
import Crypto
import CryptoExtras
import Foundation
@testable import Outbound
import LineClient
import TestSupport
import Testing
@testable import WireProtocol

@testable import Messaging

@Suite("Sign in with Apple", .timeLimit(.minutes(20)))
struct AppleTests {
    private let key: AppleKey

    init() throws { key = try AppleKey("one") }

    private func settings(_ source: (any KeySetSource)? = nil) throws -> NodeSettings {
        var settings = NodeSettings()
        settings.apple =
            if let source {
                AppleSignIn(clients: [AppleKey.app], source: source, logger: .quiet)
            } else {
                try key.signIn()
            }
        return settings
    }

    @Test(
        "creates an account on the first sign-in and finds it later", .covers("E3"))
    func newAndKnown() async throws {
        try await withNode(try settings()) { node in
            let first = try await node.connect()
            let tokens = try await first.signIn(apple: key.token("sue"), ["full_name": "Sue Apple"])
            #expect(tokens["is_guest"] == false)
            #expect(tokens["merged"] == nil)
            let me = try await first.call("me.get")
            expectMe(me)
            #expect(me["full_name"] == "Sue Apple")
            #expect(me["email"] == "sue@privaterelay.appleid.com")
            let again = try await node.connect()
            let known = try await again.signIn(apple: key.token("sue"), ["full_name": "Another"])
            #expect(known["user_id"] == tokens["user_id"])
            #expect(try await again.call("me.get")["full_name"] == "Sue Apple")
            // The account has no password, so every password is wrong.
            try await node.connect().refused(
                .invalidCredentials, "auth.login", ["email": "sue@privaterelay.appleid.com", "password": ""])
            // On another user's connection the token is not used up.
            let token = try key.token("sue")
            let alice = try await node.signedIn(.alice)
            try await alice.refused(.invalidRequest, "auth.apple", ["identity_token": .string(token)])
            try await node.connect().signIn(apple: token)
        }
    }

    @Test("rejects forged, foreign, expired and future tokens", .covers("E3"))
    func forged() async throws {
        let other = try AppleKey("one")
        let now = Int(Date.now.timeIntervalSince1970)
        var forged = [try other.token("eve"), "", "x", "a.b.c"].filter { !$0.isEmpty }
        for changes in [
            ["iss": #""https://appleid.apple.com.evil.example""#], ["iss": ""], ["aud": #""com.example.evil""#],
            ["aud": "[]"], ["aud": #"["\#(AppleKey.app)","com.example.evil"]"#], ["aud": ""], ["sub": #""""#],
            ["sub": ""],
            ["iat": "\(now + 36_000)"], ["nbf": "\(now + 36_000)"], ["exp": ""], ["exp": "1e300"], ["iat": ""],
        ] {
            forged.append(try key.token("eve", changes))
        }
        for header in [
            #"{"alg":"RS256","kid":"one","crit":["exp"]}"#, #"{"alg":"RS256","kid":"one","crit":null}"#,
            #"{"alg":"RS256"}"#, #"{"alg":"RS256","kid":"two"}"#, #"{"alg":"RS512","kid":"one"}"#,
            #"{"alg":"none","kid":"one"}"#,
        ] {
            forged.append(try key.token("eve", header: header))
        }
        forged.append(AppleKey.token("eve", header: #"{"alg":"none","kid":"one"}"#, secret: nil))
        forged.append(AppleKey.token("eve", header: key.header, secret: nil))
        for secret in [key.key.publicKey.pemRepresentation, try key.jwk, ""] {
            forged.append(AppleKey.token("eve", header: #"{"alg":"HS256","kid":"one"}"#, secret: secret))
            forged.append(AppleKey.token("eve", header: key.header, secret: secret))
        }
        let tokens = forged
        try await withNode(try settings()) { node in
            let client = try await node.connect()
            for token in tokens {
                try await client.refused(.invalidToken, "auth.apple", ["identity_token": .string(token)])
            }
            let old = try key.token("eve", ["iat": "\(now - 7200)", "exp": "\(now - 3600)"])
            try await client.refused(.tokenExpired, "auth.apple", ["identity_token": .string(old)])
            #expect(try await node.database.value("select count(*) from app.identities") == "0")
            #expect(try await node.database.value("select count(*) from app.used_identity_tokens") == "0")
            // Clock skew is allowed. The time is read again, since the steps above took a while.
            let then = Int(Date.now.timeIntervalSince1970)
            try await client.signIn(apple: key.token("eve", ["iat": "\(then + 10)", "exp": "\(then - 10)"]))
        }
    }

    @Test("requires a matching nonce or none")
    func nonce() async throws {
        let hash = SHA256.hash(data: Data("abc".utf8)).map { String(format: "%02x", $0) }.joined()
        try await withNode(try settings()) { node in
            let client = try await node.connect()
            for (claim, given) in [("abc", nil), (nil, "abc"), ("abc", "abd"), (hash, hash + "0"), ("abc", hash)]
                as [(String?, String?)]
            {
                let token = try key.token("sue", ["nonce": claim.map { "\"\($0)\"" } ?? ""])
                var params: JSONObject = ["identity_token": .string(token)]
                if let given { params = ["identity_token": .string(token), "nonce": .string(given)] }
                try await client.refused(.invalidToken, "auth.apple", params, field: "nonce")
            }
            for claim in ["abc", hash] {
                try await node.connect().signIn(
                    apple: key.token("sue", ["nonce": "\"\(claim)\""]), ["nonce": "abc"])
            }
        }
    }

    @Test("accepts a token once, over all nodes")
    func replayed() async throws {
        try await withTwoNodes(try settings()) { one, other in
            let token = try key.token("sue")
            try await one.connect().signIn(apple: token)
            for node in [one, other] {
                try await node.connect().refused(.invalidToken, "auth.apple", ["identity_token": .string(token)])
            }
        }
    }

    @Test("creates one account from concurrent first sign-ins")
    func together() async throws {
        try await withNode(try settings()) { node in
            let users = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<6 {
                    let token = try key.token("sue")
                    group.addTask {
                        try await node.connect().signIn(apple: token)["user_id"]?.stringValue ?? ""
                    }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(users.count == 1)
            #expect(
                try await node.database.value("select count(*) from app.identities where provider = 'apple'") == "1")
        }
    }

    @Test(
        "upgrades a guest, or merges it into the existing account",
        .covers("E3", "E5"))
    func guest() async throws {
        try await withNode(try settings()) { node in
            let guest = try await node.connect()
            let guestTokens = try await guest.becomeGuest()
            try await guest.call("me.update", ["date_of_birth": "2000-02-29"])
            let room = try await guest.conversation(with: Person.bob.id)
            try await guest.send("as a guest", to: room)
            let client = try await node.connect()
            let tokens = try await client.signIn(apple: key.token("sue"), guest: guestTokens)
            #expect(tokens["user_id"] == guestTokens["user_id"])
            #expect(tokens["merged"] == ["conversations": 0, "messages": 0])
            let me = try await client.call("me.get")
            #expect(me["is_guest"] == false)
            #expect(me["date_of_birth"] == "2000-02-29")
            // If the answer was lost, a retry with a fresh token succeeds.
            let retry = try await node.connect().signIn(apple: key.token("sue"), guest: guestTokens)
            #expect(retry["user_id"] == guestTokens["user_id"])

            // Another guest of the same person, on another device.
            let other = try await node.connect()
            let otherTokens = try await other.becomeGuest("Other")
            try await other.call("me.update", ["location": "Here"])
            try await other.send("from the other", to: try await other.conversation(with: Person.carol.id))
            let device = try await node.connect()
            let merged = try await device.signIn(apple: key.token("sue"), guest: otherTokens)
            #expect(merged["user_id"] == guestTokens["user_id"])
            #expect(merged["merged"] == ["conversations": 1, "messages": 1])
            #expect(try await device.call("me.get")["location"] == "Here")
            #expect(try await device.call("me.get")["date_of_birth"] == "2000-02-29")
        }
    }

    @Test("does not link an account whose address is unconfirmed")
    func preHijacked() async throws {
        try await withNode(try settings()) { node in
            let squatter = try await node.connect()
            let squatted = try await squatter.register("Squatter", email: "victim@example.com")
            let token = try key.token("victim", ["email": #""Victim@example.com""#, "email_verified": "true"])
            let victim = try await node.connect()
            let tokens = try await victim.signIn(apple: token)
            #expect(tokens["user_id"] != squatted["user_id"])
            #expect(try await victim.call("me.get")["email"] == .null)
        }
    }

    @Test("an address that PostgreSQL cannot store counts as none")
    func addressWithNUL() async throws {
        try await withNode(try settings()) { node in
            let client = try await node.connect()
            let email = #""\u0000@example.com""#
            try await client.signIn(apple: try key.token("sue", ["email": email, "email_verified": "true"]))
            #expect(try await client.call("me.get")["email"] == .null)
        }
    }

    @Test("deletes an account with a fresh identity token")
    func deleted() async throws {
        try await withNode(try settings()) { node in
            let client = try await node.connect()
            let tokens = try await client.signIn(apple: key.token("sue"))
            try await client.refused(.invalidParams, "me.delete", field: "identity_token")
            let now = Int(Date.now.timeIntervalSince1970)
            let stale = try key.token("sue", ["iat": "\(now - 700)"])
            try await client.refused(.tokenExpired, "me.delete", ["identity_token": .string(stale)])
            let other = try key.token("eve")
            try await client.refused(.invalidCredentials, "me.delete", ["identity_token": .string(other)])
            try await client.call("me.delete", ["identity_token": .string(try key.token("sue"))])
            #expect(try await node.database.value("select count(*) from app.identities") == "0")
            let again = try await node.connect().signIn(apple: key.token("sue"))
            #expect(again["user_id"] != tokens["user_id"])
        }
    }

    @Test("caches rotating keys and bounds a failing key server")
    func keyServer() async throws {
        let next = try AppleKey("two")
        try await KeyServer.with(.silence) { server in
            let times = KeySetCache<PublicKeys>.Times(pause: .zero, retry: .zero)
            var settings = NodeSettings()
            settings.apple = AppleSignIn(
                clients: [AppleKey.app],
                keys: AppleKeys(KeySetURL(server.url, timeout: .milliseconds(300)), times: times, logger: .quiet))
            try await withNode(settings) { node in
                let client = try await node.connect()
                for answer in [
                    KeyServer.Answer.silence, .says(500, "no"), .says(200, "<html>"), .says(200, #"{"keys":[]}"#),
                    .says(200, String(repeating: " ", count: 70_000)), .flood, .drip,
                ] {
                    server.answer(answer)
                    try await client.refused(
                        .unavailable, "auth.apple", ["identity_token": .string(try key.token("sue"))])
                }
                server.answer(.says(200, try AppleKey.set([key]), ["cache-control": "public, max-age=600"]))
                try await client.signIn(apple: key.token("sue"))
                let count = server.count
                try await node.connect().signIn(apple: key.token("sue"))
                #expect(server.count == count)
                // After a rotation an unknown key is fetched, and one that Apple does not have is rejected.
                server.answer(.says(200, try AppleKey.set([key, next]), ["cache-control": "max-age=600"]))
                try await node.connect().signIn(apple: next.token("sue"))
                try await node.connect().refused(
                    .invalidToken, "auth.apple", ["identity_token": .string(try AppleKey("three").token("sue"))])
                // Cached keys are used while the server does not respond.
                server.answer(.silence)
                try await node.connect().signIn(apple: key.token("sue"))
            }
        }
    }

    @Test("fetches keys for unknown key ids at most once a minute")
    func unknownKeys() async throws {
        try await KeyServer.with(.says(200, try AppleKey.set([key]))) { server in
            try await withNode(try settings(KeySetURL(server.url))) { node in
                let client = try await node.connect()
                for number in 0..<5 {
                    let header = #"{"alg":"RS256","kid":"k\#(number)"}"#
                    try await client.refused(
                        .invalidToken, "auth.apple", ["identity_token": .string(try key.token("eve", header: header))])
                }
                #expect(server.count == 1)
            }
        }
    }

    @Test("auth.apple is forbidden without client ids")
    func forbidden() async throws {
        try await withNode { node in
            try await node.connect().refused(
                .forbidden, "auth.apple", ["identity_token": .string(try key.token("sue"))])
            let guest = try await node.connect().becomeGuest()
            try await node.signedIn(.alice).refused(
                .forbidden, "auth.merge_guest", ["guest_access_token": guest["access_token"] ?? .null])
        }
    }
}
