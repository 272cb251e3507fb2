@testable import Accounts
import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("auth.merge_guest", .timeLimit(.minutes(20)))
struct MergeExternalGuestTests {
    private static let guest = "11111111-1111-4111-8111-111111111111"

    private func tokens(_ node: TestNode) async throws -> (guest: JSON, alice: JSON) {
        try await node.database.psql("insert into auth.users (id, is_anonymous) values ('\(Self.guest)', true)")
        var claims = TestToken(sub: Self.guest, session_id: nobody)
        claims.is_anonymous = true
        return (
            .string(try await claims.signed()),
            .string(try await TestToken(sub: Person.frank.id, session_id: nobody).signed())
        )
    }

    @Test(
        "merges a guest into an existing account, repeatably",
        .covers("E3", "E6"))
    func merged() async throws {
        try await withNode(NodeSettings(accountProvider: .external)) { node in
            let (guestToken, token) = try await tokens(node)
            let guest = try await node.connect()
            try await guest.call("session.authenticate", ["access_token": guestToken])
            try await guest.call("me.update", ["date_of_birth": "2000-02-29"])
            try await guest.send("as a guest", to: try await guest.conversation(with: Person.dave.id))
            let client = try await node.connect()
            try await client.call("session.authenticate", ["access_token": token])
            for _ in 0..<2 {
                let merged = try await client.call("auth.merge_guest", ["guest_access_token": guestToken])
                #expect(merged == ["conversations": 1, "messages": 1])
            }
            #expect(try await client.call("me.get")["date_of_birth"] == "2000-02-29")
            await guest.line.waitUntilClosed()
            try await node.connect().refused(.invalidToken, "session.authenticate", ["access_token": guestToken])
        }
    }

    @Test("rejects full accounts, foreign tokens and guest callers")
    func refused() async throws {
        try await withNode(NodeSettings(accountProvider: .external)) { node in
            let (guestToken, token) = try await tokens(node)
            let client = try await node.connect()
            try await client.refused(.unauthenticated, "auth.merge_guest", ["guest_access_token": guestToken])
            try await client.call("session.authenticate", ["access_token": token])
            let bob = try await TestToken(sub: Person.bob.id, session_id: nobody).signed()
            var lying = TestToken(sub: Person.bob.id, session_id: nobody)
            lying.is_anonymous = true
            let forged = try await lying.signed(secret: "another secret, of more than 32 bytes, too")
            for bad in [JSON.string(bob), .string(try await lying.signed()), .string(forged), "x"] {
                try await client.refused(.invalidToken, "auth.merge_guest", ["guest_access_token": bad])
            }
            let guest = try await node.connect()
            try await guest.call("session.authenticate", ["access_token": guestToken])
            try await guest.refused(.invalidToken, "auth.merge_guest", ["guest_access_token": guestToken])
            #expect(try await node.database.value("select count(*) from app.merged_guests") == "0")
        }
    }

    @Test("merges nothing for a guest that was upgraded")
    func sameAccount() async throws {
        try await withNode(NodeSettings(accountProvider: .external)) { node in
            let (guestToken, _) = try await tokens(node)
            try await node.database.psql(
                "update auth.users set is_anonymous = false, email = 'gwen@example.com' where id = '\(Self.guest)'")
            let client = try await node.connect()
            let token = try await TestToken(sub: Self.guest, session_id: nobody).signed()
            try await client.call("session.authenticate", ["access_token": .string(token)])
            let merged = try await client.call("auth.merge_guest", ["guest_access_token": guestToken])
            #expect(merged == ["conversations": 0, "messages": 0])
        }
    }
}
