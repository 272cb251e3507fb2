import LineClient
import Testing
import WireProtocol

@Suite("Editing and deleting messages", .timeLimit(.minutes(20)))
struct MessageEditingTests {
    private func at(_ conversation: String, _ seq: Int, _ content: JSON? = nil) -> JSONObject {
        var members: [JSONObject.Member] = [
            .init(name: "conversation_id", value: .string(conversation)), .init(name: "seq", value: .integer(seq)),
        ]
        if let content { members.append(.init(name: "content", value: content)) }
        return JSONObject(members)
    }

    @Test("pushes an edit as the next version, and updates the list")
    func edit() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.signedIn(.alice)
            let bob = try await other.signedIn(.bob)
            let seq = try #require(try await alice.send("Sevn o'clock", to: Room.aliceBob)["seq"]?.integerValue)
            try await bob.sync()
            let edited = try await alice.call("messages.edit", at(Room.aliceBob, seq, "Seven o'clock"))
            #expect(edited["version"] == 2 && edited["content"] == "Seven o'clock" && edited["edited_at"] != .null)
            try await bob.follow("the edit") { $0.messages[Room.aliceBob]?[seq]?["version"] == 2 }
            #expect(await bob.state.messages[Room.aliceBob]?[seq]?["content"] == "Seven o'clock")
            let conversation = try await bob.call("conversations.get", ["conversation_id": .string(Room.aliceBob)])
            #expect(
                conversation["last_message_content"] == "Seven o'clock" && conversation["last_seq"] == .integer(seq))
            // The same edit again is no change.
            #expect(
                try await alice.call("messages.edit", at(Room.aliceBob, seq, "Seven o'clock"))["version"] == 2)
        }
    }

    @Test("a deletion keeps the number, and is final")
    func delete() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            let sent: JSONObject = [
                "conversation_id": .string(Room.aliceBob), "content": "To be forgotten",
                "client_id": "22222222-2222-4222-8222-222222222222",
            ]
            let seq = try #require(try await alice.call("messages.send", sent)["seq"]?.integerValue)
            try await bob.sync()
            let deleted = try await alice.call("messages.delete", at(Room.aliceBob, seq))
            #expect(deleted["content"] == .null && deleted["attachment"] == .null && deleted["deleted_at"] != .null)
            try await bob.follow("the deletion") { $0.messages[Room.aliceBob]?[seq]?["content"] == .null }
            #expect(try await alice.call("messages.delete", at(Room.aliceBob, seq)) == deleted)
            try await alice.refused(.forbidden, "messages.edit", at(Room.aliceBob, seq, "back"))
            // A late retry of the send returns the current message.
            #expect(try await alice.call("messages.send", sent) == deleted)
            #expect(
                try await node.database.value(
                    "select count(*) from public.messages where content like '%forgotten%'") == "0")
        }
    }

    @Test("limits edits to senders, and deletions to senders and admins")
    func rights() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            let carol = try await node.signedIn(.carol)
            let dave = try await node.signedIn(.dave)
            let erin = try await node.signedIn(.erin)
            let seq = try #require(try await dave.send("Dave's", to: Room.alps)["seq"]?.integerValue)
            for other in [alice, bob, carol] {
                try await other.refused(.forbidden, "messages.edit", at(Room.alps, seq, "not Dave's"))
            }
            try await carol.refused(.forbidden, "messages.delete", at(Room.alps, seq))
            try await erin.refused(.notFound, "messages.edit", at(Room.alps, seq, "x"))
            try await erin.refused(.notFound, "messages.delete", at(Room.alps, seq))
            try await dave.refused(.notFound, "messages.edit", at(Room.alps, 100_000, "x"))
            #expect(try await bob.call("messages.delete", at(Room.alps, seq))["deleted_at"] != .null)
            // In a direct conversation nobody deletes the other's messages.
            let mine = try #require(try await alice.send("Alice's", to: Room.aliceBob)["seq"]?.integerValue)
            try await bob.refused(.forbidden, "messages.delete", at(Room.aliceBob, mine))
            for content in ["", .string(String(repeating: "x", count: 8_001)), .null, 1] as [JSON] {
                try await alice.refused(
                    .invalidParams, "messages.edit", at(Room.aliceBob, mine, content), field: "content")
            }
            #expect(
                try await alice.call(
                    "messages.edit", at(Room.aliceBob, mine, .string(String(repeating: "é", count: 8_000))))[
                        "version"] == 2)
        }
    }
}
