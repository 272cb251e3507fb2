@testable import Accounts
@testable import LineClient
@testable import Messaging
import TestSupport
import Testing
@testable import WireProtocol

@Suite("External accounts", .timeLimit(.minutes(20)))
struct ExternalAccountsTests {
    private static let external = NodeSettings(accountProvider: .external)

    @Test("forbids me.delete and all auth methods but merge_guest", .covers("E6"))
    func forbidden() async throws {
        try await withNode(Self.external) { node in
            let before = try await WireTests.fingerprint(node.database)
            let token = try await TestToken(sub: Person.alice.id, session_id: nobody).signed()
            for method in SampleParameters.methods
            where method.method.hasPrefix("auth.") || method.method == "me.delete" {
                if method.method == "auth.merge_guest" { continue }
                let client = try await node.connect()
                if method.access == .user {
                    try await client.call("session.authenticate", ["access_token": .string(token)])
                }
                try await client.refused(.forbidden, method.method, try #require(SampleParameters.params(of: method)))
            }
            #expect(try await WireTests.fingerprint(node.database) == before)
            #expect(try await node.database.value("select count(*) from app.sessions") == "0")
        }
    }

    @Test(
        "creates the profile of a user or guest by trigger",
        .covers("B9"))
    func trigger() async throws {
        try await withNode(Self.external) { node in
            let id = "11111111-1111-4111-8111-111111111111"
            try await node.database.psql(
                """
                insert into auth.users (id, email, raw_user_meta_data, is_anonymous)
                    values ('\(id)', null, '{"full_name":"Supa"}', true)
                """)
            var claims = TestToken(sub: id, session_id: nobody)
            claims.is_anonymous = true
            let client = try await node.connect()
            try await client.call("session.authenticate", ["access_token": .string(try await claims.signed())])
            let me = try await client.call("me.get")
            expectMe(me)
            #expect(me["full_name"] == "Supa")
            #expect(me["is_guest"] == true)
            try await client.sync()
            // It becomes a full account there, which is visible here at once.
            try await node.database.psql(
                "update auth.users set email = 'Supa@example.com', is_anonymous = false where id = '\(id)'")
            try await client.follow { $0.me?["is_guest"] == false && $0.me?["email"] == "supa@example.com" }
        }
    }

    @Test("closes a deleted user's connections on every node")
    func deleted() async throws {
        try await withTwoNodes(Self.external) { one, other in
            let token = try await TestToken(sub: Person.alice.id, session_id: nobody).signed()
            let clients = [try await one.connect(), try await other.connect()]
            for client in clients { try await client.call("session.authenticate", ["access_token": .string(token)]) }
            // The deletion sends no notification, so that the database itself rejects the message.
            try await one.database.psql(
                """
                set postline.quiet = on;
                update public.user_profiles set is_deleted = true where id = '\(Person.alice.id)';
                do $$ begin
                    insert into public.messages (conversation_id, sender_id, content)
                        values ('\(Room.aliceBob)', '\(Person.alice.id)', 'too late');
                    raise exception 'it was sent';
                exception when sqlstate 'PL008' then null;
                end $$
                """)
            for client in clients {
                await client.line.waitUntilClosed()
                #expect(await client.line.goodbye?.knownCode == .sessionRevoked)
            }
            let again = try await one.connect()
            try await again.refused(.invalidToken, "session.authenticate", ["access_token": .string(token)])
        }
    }

    @Test(
        "rejects banned and deleted users at session.authenticate")
    func banned() async throws {
        try await withNode(Self.external) { node in
            let token = try await TestToken(sub: Person.alice.id, session_id: nobody).signed()
            let open = try await node.signedIn(with: ["access_token": .string(token)])
            for change in ["banned_until = now() + interval '1 hour'", "banned_until = null, deleted_at = now()"] {
                try await node.database.psql("update auth.users set \(change) where id = '\(Person.alice.id)'")
                try await node.connect().refused(
                    .invalidToken, "session.authenticate", ["access_token": .string(token)])
                try await open.call("me.get")
                try await open.refused(.invalidToken, "session.authenticate", ["access_token": .string(token)])
            }
            try await node.database.psql("update auth.users set deleted_at = null where id = '\(Person.alice.id)'")
            try await node.connect().call("session.authenticate", ["access_token": .string(token)])
        }
    }
}
