import DatabaseAccess
import LineClient
@testable import Postgres
import Testing
import WireProtocol

@Suite("Replies, mentions, data, pins and reactions", .timeLimit(.minutes(20)))
struct MessageDetailsTests {
    @Test("a reply with a mention and data is the same in the answer, the push, the list and a delta, on two nodes")
    func reply() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.signedIn(.alice)
            let bob = try await other.signedIn(.bob)
            let cursor = try #require(try await bob.sync().last?["cursor"])
            let seq = try #require(try await alice.send("What is it?", to: Room.aliceBob)["seq"]?.integerValue)
            _ = try await bob.nextNotification()
            let answer = try await alice.call(
                "messages.send",
                [
                    "conversation_id": .string(Room.aliceBob), "content": "A reply", "reply_to_seq": .integer(seq),
                    "mentions": [.string(Person.bob.id)], "data": ["poll": ["a", "b"]],
                ])
            #expect(answer["reply_to"]?["content"] == "What is it?")
            #expect(answer["reply_to"]?["version"] == 1)
            #expect(answer["mentions"] == [.string(Person.bob.id)])
            #expect(answer["data"] == ["poll": ["a", "b"]])
            #expect(try await bob.nextNotification().params()["messages"] == [answer])
            let list = try await bob.call(
                "messages.list", ["conversation_id": .string(Room.aliceBob), "reply_to_seq": .integer(seq)])
            #expect(list["messages"] == [answer])
            let delta = try await one.signedIn(.bob).call("sync.open", ["cursor": cursor])
            #expect(delta["messages"]?.arrayValue?.last == answer)
            #expect(delta["conversations"]?[0]?["unread_mentions"] == 1)
        }
    }

    @Test("refuses replies, mentions and data out of bounds")
    func refused() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            func send(_ code: ErrorCode, _ params: JSONObject, field: String? = nil) async throws {
                let message: JSONObject = ["conversation_id": .string(Room.aliceBob), "content": "x"]
                try await alice.refused(
                    code, "messages.send", JSONObject(message.members + params.members), field: field)
            }
            try await send(.notFound, ["reply_to_seq": 1_000_000])
            try await send(.invalidParams, ["reply_to_seq": 0], field: "reply_to_seq")
            try await send(.invalidParams, ["reply_to_seq": "1"], field: "reply_to_seq")
            try await send(.forbidden, ["mentions_everyone": true])
            try await send(.invalidParams, ["mentions": ["x"]], field: "mentions")
            try await send(.invalidParams, ["data": []], field: "data")
            try await send(
                .invalidParams, ["data": ["a": .string(String(repeating: "x", count: 4_096))]], field: "data")
            try await send(.invalidParams, ["kind": "custom"], field: "data")
        }
    }

    @Test("reactions are pushed to all members with their numbers, and to the user with its own")
    func reactions() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.signedIn(.alice)
            let second = try await other.signedIn(.alice)
            let bob = try await other.signedIn(.bob)
            let message = try await alice.send("React!", to: Room.aliceBob)
            let cursor = try #require(try await bob.sync().last?["cursor"])
            try await second.sync()
            func params(_ emoji: String) -> JSONObject {
                [
                    "conversation_id": .string(Room.aliceBob), "seq": message["seq"] ?? .null,
                    "emoji": .string(emoji),
                ]
            }
            let answer = try await alice.call("messages.react", params("👍"))
            #expect(answer["counts"] == ["👍": 1])
            #expect(answer["own"] == ["👍"])
            #expect(try await second.nextNotification().params()["reactions"] == [answer])
            let pushed = try await bob.nextNotification().params()["reactions"]?[0]
            #expect(pushed?["counts"] == ["👍": 1])
            #expect(pushed?["version"] == answer["version"])
            #expect(pushed?["own"] == nil)
            let delta = try await one.signedIn(.bob).call("sync.open", ["cursor": cursor])
            #expect(delta["reactions"]?[0]?["counts"] == ["👍": 1])
            #expect(delta["reactions"]?[0]?["own"] == [])
            let list = try await bob.call("messages.list", ["conversation_id": .string(Room.aliceBob), "limit": 1])
            #expect(list["reactions"] == delta["reactions"])
            let users = try await bob.call(
                "messages.reactions",
                ["conversation_id": .string(Room.aliceBob), "seq": message["seq"] ?? .null])
            #expect(users["reactions"]?[0]?["user_id"] == .string(Person.alice.id))
            #expect(users["next"] == .null)
            try await one.signedIn(.carol).refused(.notFound, "messages.react", params("👍"))
            for emoji in ["", "Like", "👍👍", "a b"] {
                try await bob.refused(.invalidParams, "messages.react", params(emoji), field: "emoji")
            }
        }
    }

    @Test("a deletion removes a reaction that is being set, and one that is being taken back")
    func deletion() async throws {
        var settings = NodeSettings(poolSize: 6)
        settings.limits = StatementLimits(statement: .seconds(3_600), lock: .seconds(3_600))
        try await withNode(settings) { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            for (emoji, isSet) in [("🎉", true), ("👍", false)] {
                let seq = try #require(try await bob.send("Soon gone", to: Room.aliceBob)["seq"]?.integerValue)
                let place = "where conversation_id = '\(Room.aliceBob)' and seq = \(seq)"
                func params(_ emoji: String, _ isSet: Bool) -> JSONObject {
                    [
                        "conversation_id": .string(Room.aliceBob), "seq": .integer(seq), "emoji": .string(emoji),
                        "is_set": .bool(isSet),
                    ]
                }
                for client in [alice, bob] { try await client.call("messages.react", params("👍", true)) }
                // The reaction has its row and waits for the numbers, and then the deletion waits.
                let holder = try await node.database.connect()
                _ = try await holder.execute("begin; select from public.reaction_counts \(place) for update")
                func waiters(_ count: Int) async throws {
                    try await node.database.wait(for: TestDatabase.lockWaiters(), toBe: "\(count)")
                }
                async let reacted = alice.call("messages.react", params(emoji, isSet))
                try await waiters(1)
                async let deleted = bob.call(
                    "messages.delete", ["conversation_id": .string(Room.aliceBob), "seq": .integer(seq)])
                try await waiters(2)
                _ = try await holder.execute("commit")
                await holder.close()
                _ = try await deleted
                do {
                    _ = try await reacted
                } catch let error as RemoteError {
                    // The deletion came first.
                    #expect(error.code == ErrorCode.forbidden.rawValue)
                }
                #expect(
                    try await node.database.value("select count(*) from public.message_reactions \(place)") == "0")
                #expect(
                    try await node.database.value("select counts from public.reaction_counts \(place)") == "{}")
            }
        }
    }

    @Test("pins and settings are told to those whom they concern")
    func settings() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            let message = try await alice.send("Pin me", to: Room.aliceBob)
            for client in [alice, bob] { try await client.sync() }
            let seq = message["seq"] ?? .null
            let pinned = try await bob.call(
                "messages.pin", ["conversation_id": .string(Room.aliceBob), "seq": seq])
            #expect(pinned["pinned_seqs"] == [seq])
            let push = try await alice.nextNotification().params()["conversations"]?[0]
            #expect(push?["pinned_seqs"] == [seq])
            _ = try await bob.nextNotification()
            let set = try await bob.call(
                "conversations.set",
                ["conversation_id": .string(Room.aliceBob), "is_archived": true, "is_marked_unread": true])
            #expect(set["is_archived"] == true && set["is_marked_unread"] == true && set["is_pinned"] == false)
            #expect(try await bob.nextNotification().params()["conversations"] == [set])
            // The other member receives only the next message.
            _ = try await bob.send("hello", to: Room.aliceBob)
            #expect(try await alice.nextNotification().params()["conversations"] == nil)
            let conversation = try await bob.call(
                "conversations.get", ["conversation_id": .string(Room.aliceBob)])
            #expect(conversation["is_marked_unread"] == false && conversation["is_archived"] == true)
            let data = try await alice.call(
                "conversations.update", ["conversation_id": .string(Room.aliceBob), "data": ["color": "red"]])
            #expect(data["data"] == ["color": "red"])
            try await alice.refused(
                .forbidden, "conversations.update",
                ["conversation_id": .string(Room.aliceBob), "title": "A direct one has none"])
            try await alice.refused(
                .invalidParams, "conversations.update", ["conversation_id": .string(Room.aliceBob)], field: "title")
        }
    }
}
