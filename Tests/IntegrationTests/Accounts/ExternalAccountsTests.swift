import LineClient
import Testing

@testable import Messaging

@Suite("Accounts that another server keeps", .timeLimit(.minutes(60)))
struct ExternalAccountsTests {
    private static let external = NodeSettings(accountKeeper: .external)

    @Test("every auth method and me.delete are forbidden, and nothing happens")
    func forbidden() async throws {
        try await withNode(Self.external) { node in
            let before = try await WireTests.fingerprint(node.database)
            let token = try await TestToken(sub: Person.alice.id, session_id: nobody).signed()
            for method in Probe.methods where method.method.hasPrefix("auth.") || method.method == "me.delete" {
                let client = try await node.connect()
                if method.access == .user {
                    try await client.call("session.authenticate", ["access_token": .string(token)])
                }
                try await client.refused(.forbidden, method.method, try #require(Probe.params(of: method)))
            }
            #expect(try await WireTests.fingerprint(node.database) == before)
            #expect(try await node.database.value("select count(*) from app.sessions") == "0")
        }
    }

    @Test("a user whom the other server makes gets its profile by the same trigger, and as a guest where it is one")
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
            // It becomes a full account there, and is seen so here as it happens.
            try await node.database.psql(
                "update auth.users set email = 'Supa@example.com', is_anonymous = false where id = '\(id)'")
            try await client.follow { $0.me?["is_guest"] == false && $0.me?["email"] == "supa@example.com" }
        }
    }
}
