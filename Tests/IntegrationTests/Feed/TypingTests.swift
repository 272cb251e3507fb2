import LineClient
import Messaging
import Testing

@Suite("conversations.typing", .timeLimit(.minutes(60)))
struct TypingTests {
    @Test("the other members who are live hear of it, on every node, once in two seconds, and nobody else does")
    func told() async throws {
        // The two seconds are never over, on however busy a machine.
        try await withTwoNodes(NodeSettings(rates: .still)) { one, other in
            let alice = try await one.signedIn(.alice)
            let second = try await other.signedIn(.alice)
            let bob = try await one.signedIn(.bob)
            let carol = try await other.signedIn(.carol)
            let frank = try await other.signedIn(.frank)
            for client in [alice, second, bob, carol, frank] { try await client.sync() }
            let answer = try await alice.call("conversations.typing", ["conversation_id": .string(Room.alps)])
            #expect(answer == .object([:]))
            for client in [bob, carol] {
                let push = try await client.nextNotification()
                #expect(push.method == "typing")
                #expect(
                    JSON.object(try push.params()) == [
                        "conversation_id": .string(Room.alps), "user_id": .string(Person.alice.id), "is_typing": true,
                        "expires_in": 6,
                    ])
            }
            // Too soon: answered and dropped.
            _ = try await alice.call("conversations.typing", ["conversation_id": .string(Room.alps)])
            // In another conversation it is told at once.
            _ = try await alice.call(
                "conversations.typing", ["conversation_id": .string(Room.aliceBob), "is_typing": false])
            let push = try await bob.nextNotification()
            #expect(try push.params()["conversation_id"]?.stringValue == Room.aliceBob)
            #expect(try push.params()["is_typing"] == false)
            // What commits later comes later, over each of these ways: nothing came before.
            for client in [alice, second, carol, frank] {
                #expect(try await client.typing(upTo: "typing", on: one.database) == 0)
            }
        }
    }

    @Test(
        "who is no member is told that there is no such conversation, each time, and nobody hears of it",
        .covers("row 65"))
    func stranger() async throws {
        try await withNode { node in
            let frank = try await node.signedIn(.frank)
            let bob = try await node.signedIn(.bob)
            try await bob.sync()
            for _ in 0..<3 {
                try await frank.refused(.notFound, "conversations.typing", ["conversation_id": .string(Room.alps)])
            }
            _ = try await frank.refused(
                .invalidParams, "conversations.typing", ["conversation_id": "here"], field: "conversation_id")
            #expect(try await bob.typing(upTo: "stranger", on: node.database) == 0)
        }
    }

    @Test("of who hides its presence nobody is told, until it shows it again")
    func hidden() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            try await bob.sync()
            let room: JSONObject = ["conversation_id": .string(Room.aliceBob)]
            _ = try await alice.call("me.update", ["preferences": .object(["presence": "nobody"])])
            #expect(try await alice.call("conversations.typing", room) == .object([:]))
            #expect(try await bob.typing(upTo: "hidden", on: node.database) == 0)
            _ = try await alice.call("me.update", ["preferences": .object(["presence": .null])])
            let other: JSONObject = ["conversation_id": .string(Room.alps)]
            _ = try await alice.call("conversations.typing", other)
            // What else changed for him comes before.
            while try await bob.nextNotification().method != "typing" {}
        }
    }

    @Test(
        "what a stranger says on the nodes' channel, by SQL, is told to nobody, and nothing of typing is stored",
        .covers("row 65"))
    func channel() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.signedIn(.alice)
            let bob = try await other.signedIn(.bob)
            try await alice.sync()
            try await bob.sync()
            let notice = "\(Room.aliceBob)/\(Person.alice.id)/1"
            for payload in ["", "typing", notice, "00 \(Person.carol.id) 1 \(notice)"] {
                try await one.database.psql("select pg_notify('postline_typing', '\(payload)')")
            }
            #expect(try await bob.typing(upTo: "channel", on: one.database) == 0)
            _ = try await alice.call("conversations.typing", ["conversation_id": .string(Room.aliceBob)])
            #expect(try await bob.nextNotification().method == "typing")
            // Who comes later hears nothing of it.
            let later = try await other.signedIn(.bob)
            try await later.sync()
            #expect(try await later.typing(upTo: "later", on: one.database) == 0)
        }
    }
}

extension TestClient {
    /// How many typing notices came up to a change of this user's own data, which is made here by SQL.
    fileprivate func typing(upTo fence: String, on database: TestDatabase) async throws -> Int {
        try await database.psql(
            "update public.user_private set preferences = preferences || '{\"fence\":\"\(fence)\"}' where id = '\(userID)'"
        )
        var count = 0
        while replica.me?["preferences"]?["fence"]?.stringValue != fence {
            let push = try await nextNotification()
            if push.method == "typing" { count += 1 }
            if push.method == "changes" { take(.object(try push.params())) }
        }
        return count
    }
}
