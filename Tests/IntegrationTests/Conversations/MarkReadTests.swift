import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("messages.mark_read", .timeLimit(.minutes(20)))
struct MarkReadTests {
    @Test(
        "moves the mark forward, up to the last message",
        .covers("A4", "A9"))
    func marks() async throws {
        try await withNode { node in
            let bob = try await node.signedIn(.bob)
            let stranger = try await node.stranger()
            let id = try await stranger.conversation(with: Person.bob.id)
            for number in 1...10 { try await stranger.send("\(number)", to: id) }
            func mark(_ seq: JSON) async throws -> [JSON?] {
                let answer = try await bob.call("messages.mark_read", ["conversation_id": .string(id), "seq": seq])
                expectShape(
                    answer, ["conversation_id", "user_id", "last_read_seq", "unread_count", "unread_mentions"])
                #expect(answer["conversation_id"]?.stringValue == id)
                #expect(answer["user_id"]?.stringValue == Person.bob.id)
                return [answer["last_read_seq"], answer["unread_count"]]
            }
            #expect(try await mark(0) == [0, 10])
            #expect(try await mark(4) == [4, 6])
            #expect(try await mark(2) == [4, 6])
            #expect(try await mark(4) == [4, 6])
            #expect(try await mark(11) == [10, 0])
            #expect(try await mark(.integer(Int64.max)) == [10, 0])
            #expect(try await mark(0) == [10, 0])
            try await stranger.send("11", to: id)
            #expect(try await mark(0) == [10, 1])
        }
    }

    @Test("keeps a mark for each member")
    func ownOnly() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let before = try await node.database.column(
                "select last_read_seq from public.conversation_members where conversation_id = '\(Room.alps)' and user_id <> '\(Person.alice.id)' order by user_id"
            )
            try await alice.call("messages.mark_read", ["conversation_id": .string(Room.alps), "seq": 1_000])
            #expect(
                try await node.database.column(
                    "select last_read_seq from public.conversation_members where conversation_id = '\(Room.alps)' and user_id <> '\(Person.alice.id)' order by user_id"
                ) == before)
        }
    }

    @Test("mark_read validates its params")
    func params() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            for seq: JSON in [-1, "5", true, .null] {
                try await alice.refused(
                    .invalidParams, "messages.mark_read", ["conversation_id": .string(Room.aliceBob), "seq": seq],
                    field: "seq")
            }
            try await alice.refused(
                .invalidParams, "messages.mark_read", ["conversation_id": .string(Room.aliceBob)], field: "seq")
            try await alice.refused(.invalidParams, "messages.mark_read", ["seq": 5], field: "conversation_id")
            try await alice.refused(
                .invalidParams, "messages.mark_read",
                ["conversation_id": .string(Room.aliceBob), "last_read_seq": 5, "seq": 5], field: "last_read_seq")
        }
    }
}
