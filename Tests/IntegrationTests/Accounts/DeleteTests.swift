@testable import Accounts
import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("me.delete", .timeLimit(.minutes(20)))
struct DeleteTests {
    private static let password: JSONObject = ["password": .string(TestNode.password)]

    @Test(
        "leaves a tombstone with its messages and passes groups on", .covers("B33"))
    func tombstone() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.signedIn(.alice)
            let bob = try await other.signedIn(.bob)
            let frank = try await one.signedIn(.frank)
            for client in [bob, frank] { try await client.sync() }
            let cursor = await frank.cursor
            let before = try await bob.call("messages.list", ["conversation_id": .string(Room.aliceBob)])

            #expect(try await alice.call("me.delete", Self.password) == ["deleted": true])

            for client in [bob, frank] {
                try await client.follow("the tombstone") { $0.profiles[Person.alice.id]?["is_deleted"] == true }
            }
            let profile = try await bob.call("profiles.get", ["ids": [.string(Person.alice.id)]])["profiles"]?[0]
            expectProfile(profile)
            for name in Shape.profile {
                switch name {
                case "id", "version", "created_at", "updated_at": break
                case "is_deleted": #expect(profile?[name] == true)
                case "is_verified", "is_guest": #expect(profile?[name] == false)
                case "attributes": #expect(profile?[name] == [:])
                default: #expect(profile?[name] == .null, "\(name)")
                }
            }
            #expect(await bob.state.profiles[Person.alice.id] == profile)
            #expect(try await frank.sync(from: cursor, live: false)[0]["profiles"]?[0] == profile)
            try await bob.refused(.notFound, "profiles.get", ["username": "alice"])
            #expect(try await bob.call("profiles.search", ["query": "alice moreau"])["profiles"] == [])

            // The messages and the direct conversation stay.
            let after = try await bob.call("messages.list", ["conversation_id": .string(Room.aliceBob)])
            let (old, new) = (before["messages"]?.arrayValue ?? [], after["messages"]?.arrayValue ?? [])
            #expect(old.map { $0["content"] } == new.map { $0["content"] })
            let sender = new.first { $0["sender_id"]?.stringValue == Person.alice.id }?["sender"]
            expectShape(sender, Shape.sender)
            #expect(sender?["full_name"] == .null && sender?["username"] == .null && sender?["avatar_id"] == .null)
            let list = try await bob.call("conversations.list")
            #expect(list["conversations"]?.arrayValue?.contains { $0["id"]?.stringValue == Room.aliceBob } == true)
            #expect(list["profiles"]?.arrayValue?.first { $0["id"]?.stringValue == Person.alice.id } == profile)
            // The group continues without her and has another owner.
            let alps = try await bob.call("conversations.get", ["conversation_id": .string(Room.alps)])
            let roles = alps["members"]?.arrayValue?.map {
                "\($0["user_id"]?.stringValue ?? "") \($0["role"]?.stringValue ?? "")"
            }
            #expect(roles?.contains("\(Person.bob.id) owner") == true)
            #expect(roles?.contains { $0.hasPrefix(Person.alice.id) } == false)
        }
    }

    @Test(
        "erases private data and ends all sessions",
        .covers("B33"))
    func sessions() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.connect()
            let tokens = try await alice.logIn(Person.alice.email)
            let elsewhere = [try await other.signedIn(.alice), try await other.signedIn(with: tokens)]
            try await alice.call("me.update_physical", ["height_cm": 170])
            try await alice.call("me.delete", Self.password)
            try await alice.refused(.sessionRevoked, "me.get")
            for client in [alice] + elsewhere { try await client.expectEnd() }
            try await one.connect().refused(
                .sessionRevoked, "auth.refresh", ["refresh_token": tokens["refresh_token"] ?? ""])
            try await one.connect().refused(
                .sessionRevoked, "session.authenticate", ["access_token": tokens["access_token"] ?? ""])
            #expect(
                try await one.database.value(
                    """
                    select num_nonnulls(s.email, s.phone_number, s.date_of_birth, s.height_cm, u.email,
                                        u.encrypted_password) || ' ' || s.preferences || ' ' || u.raw_user_meta_data
                      from public.user_private s join auth.users u on u.id = s.id where s.id = '\(Person.alice.id)'
                    """) == "0 {} {}")
        }
    }

    @Test("frees the address and reserves the username")
    func afterwards() async throws {
        try await withNode { node in
            try await node.signedIn(.alice).call("me.delete", Self.password)
            try await node.connect().refused(
                .invalidCredentials, "auth.login",
                ["email": .string(Person.alice.email), "password": .string(TestNode.password)])
            let new = try await node.connect()
            let tokens = try await new.register("Alice Again", email: Person.alice.email)
            #expect(tokens["user_id"]?.stringValue != Person.alice.id)
            #expect(try await new.call("conversations.list")["conversations"] == [])
            for client in [new, try await node.signedIn(.frank)] {
                try await client.refused(.usernameTaken, "me.change_username", ["username": "alice"])
            }
            try await node.database.setClock(ahead: "121 days")
            #expect(try await new.call("me.change_username", ["username": "alice"])["username"] == "alice")
        }
    }

    @Test("frees a deleted guest's names, but not a merged one's")
    func guestNames() async throws {
        try await withNode { node in
            let guest = try await node.guest()
            try await guest.call("me.change_username", ["username": "gwen"])
            try await guest.call("me.change_username", ["username": "gwenda"])
            let rival = try await node.stranger()
            try await rival.refused(.usernameTaken, "me.change_username", ["username": "gwen"])
            try await guest.call("me.delete")
            try await rival.call("me.change_username", ["username": "gwen"])
            try await node.stranger().call("me.change_username", ["username": "gwenda"])

            let other = try await node.connect()
            let tokens = try await other.becomeGuest()
            try await other.call("me.change_username", ["username": "gus"])
            try await node.connect().logIn(Person.alice.email, guest: tokens)
            try await node.stranger().refused(.usernameTaken, "me.change_username", ["username": "gus"])
        }
    }

    @Test("requires the right password, and none of a guest")
    func password() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let me = try await alice.call("me.get")
            try await alice.refused(.invalidParams, "me.delete", field: "password")
            try await alice.refused(.invalidCredentials, "me.delete", ["password": "wrong"])
            #expect(try await alice.call("me.get") == me)
            let guest = try await node.guest()
            try await guest.refused(.invalidParams, "me.delete", Self.password, field: "password")
            #expect(try await guest.call("me.delete") == ["deleted": true])
            try await guest.expectEnd()
        }
    }

    @Test("SQL cannot revert a tombstone")
    func forGood() async throws {
        try await withNode { node in
            try await node.signedIn(.alice).call("me.delete", Self.password)
            await #expect(throws: (any Error).self) {
                try await node.database.psql(
                    "update public.user_profiles set is_deleted = false where id = '\(Person.alice.id)'")
            }
            await #expect(throws: (any Error).self) {
                try await node.database.psql(
                    "update app.sessions set revoked_at = null; select 1 / (select count(*) from app.sessions where revoked_at is null and user_id = '\(Person.alice.id)')"
                )
            }
        }
    }

    @Test("rejects writes of a connection that is not notified yet")
    func afterTheEnd() async throws {
        // With external accounts no session ends, and this node's feed does not notify.
        try await withNode(NodeSettings(accountProvider: .external)) { node in
            try await node.database.replacePoll(by: "return")
            let token = try await TestToken(sub: Person.alice.id, session_id: nil).signed()
            let alice = try await node.signedIn(with: ["access_token": .string(token)])
            try await node.database.psql(
                "update public.user_profiles set is_deleted = true where id = '\(Person.alice.id)'")
            let before = try await WireTests.fingerprint(node.database)
            let requests: [(String, JSONObject)] = [
                ("me.update", ["bio": "a ghost's"]), ("me.update", ["preferences": ["a": 1]]),
                ("me.update_physical", ["height_cm": 170]), ("me.change_username", ["username": "ghost"]),
                ("me.set_avatar", ["avatar_type": "built_in", "avatar_id": "fox"]),
                ("me.save", ["bio": "a ghost's", "physical": ["height_cm": 170]]),
                ("conversations.open", ["user_id": .string(Person.frank.id)]),
            ]
            for (method, params) in requests {
                // The same as for an account that never existed. For conversations.open the missing user is the caller.
                try await alice.refused(
                    method == "conversations.open" ? .notFound : .invalidToken, method, params)
            }
            #expect(try await WireTests.fingerprint(node.database) == before)
            try await node.connect().refused(
                .invalidToken, "session.authenticate", ["access_token": .string(token)])
        }
    }
}
