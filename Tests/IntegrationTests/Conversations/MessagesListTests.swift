import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("messages.list", .timeLimit(.minutes(20)))
struct MessagesListTests {
    private func seqs(_ client: TestClient, _ params: (String, JSON)...) async throws -> [Int] {
        let members = [("conversation_id", JSON.string(Room.aliceBob))] + params
        let answer = try await client.call("messages.list", JSONObject(members.map { .init(name: $0.0, value: $0.1) }))
        expectShape(answer, ["messages", "reactions", "pieces"])
        for message in answer["messages"]?.arrayValue ?? [] { expectMessage(message) }
        return (answer["messages"]?.arrayValue ?? []).compactMap { $0["seq"]?.integerValue }
    }

    @Test("lists the newest, earlier or later messages in order", .covers("A2"))
    func pages() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            #expect(try await seqs(alice) == Array(41...90))
            #expect(try await seqs(alice, ("limit", 3)) == [88, 89, 90])
            #expect(try await seqs(alice, ("limit", 200)) == Array(1...90))
            #expect(try await seqs(alice, ("before_seq", 88), ("limit", 3)) == [85, 86, 87])
            #expect(try await seqs(alice, ("before_seq", 3)) == [1, 2])
            #expect(try await seqs(alice, ("before_seq", 1)) == [])
            #expect(try await seqs(alice, ("before_seq", 1_000), ("limit", 1)) == [90])
            #expect(try await seqs(alice, ("after_seq", 0), ("limit", 3)) == [1, 2, 3])
            #expect(try await seqs(alice, ("after_seq", 88)) == [89, 90])
            #expect(try await seqs(alice, ("after_seq", 90)) == [])
            #expect(try await seqs(alice, ("after_seq", .integer(Int64.max))) == [])
        }
    }

    @Test("includes the sender's current profile", .covers("B31"))
    func liveSender() async throws {
        try await withNode { node in
            let bob = try await node.signedIn(.bob)
            try await bob.call("me.update", ["full_name": "Robert"])
            let alice = try await node.signedIn(.alice)
            let messages = try await alice.call(
                "messages.list", ["conversation_id": .string(Room.aliceBob), "limit": 200])
            let bobs = (messages["messages"]?.arrayValue ?? []).filter { $0["sender_id"]?.stringValue == Person.bob.id }
            #expect(!bobs.isEmpty)
            for message in bobs { #expect(message["sender"]?["full_name"] == "Robert") }
        }
    }

    @Test("is_read is true when all other members have read it", .covers("A11"))
    func isRead() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            let sent = try await alice.send("read me", to: Room.aliceBob)
            func isRead() async throws -> JSON? {
                try await alice.call("messages.list", ["conversation_id": .string(Room.aliceBob), "limit": 1])[
                    "messages"]?[0]?["is_read"]
            }
            #expect(try await isRead() == false)
            try await bob.call(
                "messages.mark_read", ["conversation_id": .string(Room.aliceBob), "seq": sent["seq"] ?? 0])
            #expect(try await isRead() == true)
        }
    }

    @Test("lists a deleted message without content")
    func deleted() async throws {
        try await withNode { node in
            try await node.database.psql(
                "update public.messages set deleted_at = now() where conversation_id = '\(Room.aliceBob)' and seq = 90")
            let alice = try await node.signedIn(.alice)
            let answer = try await alice.call("messages.list", ["conversation_id": .string(Room.aliceBob), "limit": 1])
            let message = answer["messages"]?[0]
            expectMessage(message)
            #expect(message?["seq"] == 90)
            #expect(message?["content"] == .null)
            expectTimestamp(message?["deleted_at"])
            #expect(message?["version"] == 2)
            let conversation = try await alice.call("conversations.get", ["conversation_id": .string(Room.aliceBob)])
            #expect(conversation["last_message_content"] == .null)
        }
    }

    @Test("messages.list validates its params")
    func params() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let bad: [(String, JSON)] = [
                ("limit", 0), ("limit", 201), ("limit", "5"), ("before_seq", 0), ("before_seq", -1),
                ("before_seq", "1"),
                ("after_seq", -1), ("after_seq", true), ("seq", 1), ("before", 5),
            ]
            for (name, value) in bad {
                try await alice.refused(
                    .invalidParams, "messages.list",
                    JSONObject([
                        .init(name: "conversation_id", value: .string(Room.aliceBob)), .init(name: name, value: value),
                    ]),
                    field: name)
            }
            try await alice.refused(
                .invalidParams, "messages.list",
                ["conversation_id": .string(Room.aliceBob), "before_seq": 5, "after_seq": 1], field: "after_seq")
            try await alice.refused(.invalidParams, "messages.list", field: "conversation_id")
        }
    }
}
