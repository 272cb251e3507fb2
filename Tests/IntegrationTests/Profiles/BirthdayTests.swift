import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("Birthdays from guest to account", .timeLimit(.minutes(20)))
struct BirthdayTests {
    private static let birthday: JSONObject = ["date_of_birth": "2000-02-29"]

    @Test(
        "an upgrade keeps the birthday",
        .covers("B32", "E1", "E8", "E10", "E13"))
    func upgraded() async throws {
        try await withNode { node in
            let guest = try await node.guest()
            let before = try await node.database.clock()
            let set = try await guest.call("me.update", Self.birthday)
            #expect(set["physical"]?["date_of_birth"] == "2000-02-29")
            let after = try await node.database.clock()
            let time = try #require(set["updated_at"]?.stringValue)
            #expect(before <= time && time <= after)
            // No client sends it.
            try await guest.refused(
                .invalidParams, "me.update", ["updated_at": "2000-01-01T00:00:00.000000Z"], field: "updated_at")
            try await guest.call(
                "auth.upgrade", ["email": "gwen@example.com", "password": .string(TestNode.password)])
            await guest.close()
            let reinstalled = try await node.connect()
            try await reinstalled.logIn("gwen@example.com")
            let me = try await reinstalled.call("me.get")
            expectMe(me)
            #expect(me["date_of_birth"] == "2000-02-29")
            let upgraded = try #require(me["updated_at"]?.stringValue)
            let end = try await node.database.clock()
            #expect(after <= upgraded && upgraded <= end)
        }
    }

    @Test(
        "a merge moves the birthday to an account without one",
        .covers("E5", "E14")
    )
    func merged() async throws {
        try await withNode { node in
            let guest = try await node.connect()
            let tokens = try await guest.becomeGuest()
            try await guest.call("me.update", Self.birthday)
            let otherGuest = try await node.guest()
            try await otherGuest.call("me.update", ["date_of_birth": "1999-09-09"])
            let client = try await node.connect()
            try await client.logIn(Person.bob.email, guest: tokens)
            #expect(try await client.call("me.get")["date_of_birth"] == "2000-02-29")
            #expect(
                try await node.database.column(
                    "select date_of_birth::text from public.user_private where date_of_birth is not null order by 1")
                    == ["1991-04-17", "1999-09-09", "2000-02-29"])
            #expect(try await otherGuest.call("me.get")["date_of_birth"] == "1999-09-09")
        }
    }

    @Test("a merge keeps the account's own birthday", .covers("E5"))
    func ownWins() async throws {
        try await withNode { node in
            let guest = try await node.connect()
            let tokens = try await guest.becomeGuest()
            try await guest.call("me.update", Self.birthday)
            for _ in 0..<2 {
                let client = try await node.connect()
                try await client.logIn(Person.alice.email, guest: tokens)
                #expect(try await client.call("me.get")["date_of_birth"] == "1991-04-17")
            }
        }
    }

    @Test(
        "another user on the connection sees no birthday of the first",
        .covers("B35", "E7", "E14", "E15"))
    func signedOut() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            try await client.sync()
            try await client.call("auth.logout")
            for (method, params) in [
                ("auth.login", ["email": .string(Person.frank.email), "password": .string(TestNode.password)]),
                ("auth.guest", [:]),
            ] as [(String, JSONObject)] {
                try await client.refused(.invalidRequest, method, params)
            }
            let frank = try await node.signedIn(.frank)
            let me = try await frank.answerText("me.get", [:])
            let world = try await frank.answerText("sync.open", ["live": false])
            for secret in ["1991-04-17", "+33612345678", Person.alice.email, Room.aliceBob] {
                #expect(!me.contains(secret) && !world.contains(secret), "\(secret)")
            }
        }
    }
}
