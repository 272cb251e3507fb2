@testable import Accounts
import Foundation
import LineClient
import TestSupport
import Testing
@testable import WireProtocol

@Suite("session.authenticate", .timeLimit(.minutes(20)))
struct AuthenticateTests {
    @Test("authenticates the connection with a valid token", .covers("A24"))
    func good() async throws {
        try await withNode { node in
            let token = try await node.accessToken(of: .alice)
            let client = try await node.connect()
            let answer = try await client.call("session.authenticate", ["access_token": .string(token)])
            expectShape(answer, ["user_id", "session_id", "is_guest", "expires_at"])
            #expect(answer["user_id"]?.stringValue == Person.alice.id)
            #expect(answer["is_guest"] == false)
            expectTimestamp(answer["expires_at"])
            #expect(try await client.call("me.get")["username"] == "alice")
            #expect(try await client.call("session.authenticate", ["access_token": .string(token)]) == answer)
        }
    }

    @Test("rejects another user's token on a signed-in connection")
    func otherUser() async throws {
        try await withNode { node in
            let token = try await node.accessToken(of: .bob)
            let client = try await node.signedIn(.alice)
            try await client.refused(.invalidRequest, "session.authenticate", ["access_token": .string(token)])
            #expect(try await client.call("me.get")["username"] == "alice")
        }
    }

    @Test("rejects malformed tokens")
    func garbage() async throws {
        try await withNode { node in
            let good = try await node.accessToken(of: .alice)
            let client = try await node.connect()
            let parts = good.split(separator: ".").map(String.init)
            let garbage = [
                "", "x", "..", "a.b.c", good + "x", String(good.dropLast()), String(good.dropLast(5)) + "AAAAA",
                "\(parts[0]).\(parts[1]).", "\(parts[0])..\(parts[2])", " " + good, "eyJhbGciOiJub25lIn0.\(parts[1]).",
                "' or 1=1 --", String(repeating: "A", count: 50_000),
            ]
            for token in garbage {
                try await client.refused(.invalidToken, "session.authenticate", ["access_token": .string(token)])
            }
            try await client.refused(.invalidParams, "session.authenticate", field: "access_token")
            try await client.refused(.invalidParams, "session.authenticate", ["access_token": 5], field: "access_token")
            try await client.refused(.invalidParams, "session.authenticate", ["token": "x"], field: "token")
            try await client.refused(.unauthenticated, "me.get")
        }
    }

    @Test("row 44: rejects an expired token after 30 seconds of skew")
    func expired() async throws {
        try await withNode { node in
            let session = try await Self.session(of: .alice, node)
            let client = try await node.connect()
            let old = try await TestToken(sub: Person.alice.id, session_id: session, exp: .now - 31).signed()
            try await client.refused(.tokenExpired, "session.authenticate", ["access_token": .string(old)])
            let skewed = try await TestToken(sub: Person.alice.id, session_id: session, exp: .now - 5).signed()
            try await client.call("session.authenticate", ["access_token": .string(skewed)])
        }
    }

    @Test("row 34: rejects other roles, issuers and audiences")
    func claims() async throws {
        try await withNode { node in
            let session = try await Self.session(of: .alice, node)
            let client = try await node.connect()
            let bad: [TestToken] = [
                .init(sub: Person.alice.id, session_id: session, role: "service_role"),
                .init(sub: Person.alice.id, session_id: session, role: "postline_feed"),
                .init(sub: Person.alice.id, session_id: session, aud: "other"),
                .init(sub: Person.alice.id, session_id: session, iss: "other"),
                .init(sub: "alice", session_id: session),
                .init(sub: Person.alice.id, session_id: "x"),
                .init(sub: Person.alice.id, session_id: nil),
                .init(sub: Person.alice.id, session_id: session, nbf: .now + 3600),
            ]
            for claims in bad {
                try await client.refused(
                    .invalidToken, "session.authenticate", ["access_token": .string(try await claims.signed())])
            }
            let other = try await TestToken(sub: Person.alice.id, session_id: session).signed(
                secret: "another secret, of more than 32 bytes too")
            try await client.refused(.invalidToken, "session.authenticate", ["access_token": .string(other)])
        }
    }

    @Test("rejects revoked, unknown and foreign sessions")
    func sessions() async throws {
        try await withNode { node in
            let session = try await Self.session(of: .alice, node)
            let client = try await node.connect()
            for (user, session) in [(Person.bob.id, session), (Person.alice.id, nobody), (nobody, session)] {
                let token = try await TestToken(sub: user, session_id: session).signed()
                try await client.refused(.sessionRevoked, "session.authenticate", ["access_token": .string(token)])
            }
            try await node.database.psql("update app.sessions set revoked_at = now() where id = '\(session)'")
            let token = try await TestToken(sub: Person.alice.id, session_id: session).signed()
            try await client.refused(.sessionRevoked, "session.authenticate", ["access_token": .string(token)])
        }
    }

    @Test("creates a profile on first use with external accounts")
    func external() async throws {
        try await withNode(NodeSettings(accountProvider: .external)) { node in
            let id = "11111111-1111-4111-8111-111111111111"
            try await node.database.psql(
                """
                alter table auth.users disable trigger user;
                insert into auth.users (id, email, raw_user_meta_data) values ('\(id)', 'ext@example.com', '{"full_name":"Ext"}');
                alter table auth.users enable trigger user;
                """)
            #expect(
                try await node.database.value("select count(*) from public.user_profiles where id = '\(id)'") == "0")
            let client = try await node.connect()
            let token = try await TestToken(sub: id, session_id: nobody).signed()
            try await client.call("session.authenticate", ["access_token": .string(token)])
            let me = try await client.call("me.get")
            expectMe(me)
            #expect(me["full_name"] == "Ext")
            let unknown = try await TestToken(sub: nobody, session_id: nil).signed()
            try await node.connect().refused(.invalidToken, "session.authenticate", ["access_token": .string(unknown)])
        }
    }

    @Test("row 44: ends a connection at its token's expiry unless renewed")
    func ends() async throws {
        try await withNode { node in
            let session = try await Self.session(of: .alice, node)
            let client = try await node.connect()
            let short = try await TestToken(sub: Person.alice.id, session_id: session, exp: .now + 1).signed()
            try await client.call("session.authenticate", ["access_token": .string(short)])
            let renewed = try await node.connect()
            try await renewed.call("session.authenticate", ["access_token": .string(short)])
            let long = try await TestToken(sub: Person.alice.id, session_id: session, exp: .now + 3600).signed()
            try await renewed.call("session.authenticate", ["access_token": .string(long)])
            await client.line.waitUntilClosed()
            let goodbye = await client.line.goodbye
            #expect(goodbye?.code == "token_expired")
            #expect(goodbye?.reconnect == true)
            try await renewed.call("me.get")
        }
    }

    private static func session(of person: Person, _ node: TestNode) async throws -> String {
        let client = try await node.connect()
        let answer = try await client.call(
            "session.authenticate", ["access_token": .string(try await node.accessToken(of: person))])
        return try #require(answer["session_id"]?.stringValue)
    }
}
