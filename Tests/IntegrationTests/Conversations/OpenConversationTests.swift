import LineClient
import TestSupport
import Testing
@testable import WireProtocol

@Suite("conversations.open", .timeLimit(.minutes(20)))
struct OpenConversationTests {
    @Test("returns the same direct conversation to both users", .covers("A6"))
    func existing() async throws {
        try await withNode { node in
            let ofAlice = try await node.signedIn(.alice).call(
                "conversations.open", ["user_id": .string(Person.bob.id)])
            let ofBob = try await node.signedIn(.bob).call("conversations.open", ["user_id": .string(Person.alice.id)])
            expectConversation(ofAlice)
            expectConversation(ofBob)
            #expect(ofAlice["id"]?.stringValue == Room.aliceBob)
            #expect(ofAlice.without("last_read_seq", "unread_count") == ofBob.without("last_read_seq", "unread_count"))
            let marks = ofAlice["members"]?.arrayValue ?? []
            #expect(marks.count == 2)
            for (conversation, person) in [(ofAlice, Person.alice), (ofBob, .bob)] {
                let mark = marks.first { $0["user_id"]?.stringValue == person.id }?["last_read_seq"]?.integerValue ?? -1
                #expect(conversation["last_read_seq"]?.integerValue == mark)
                #expect(conversation["unread_count"]?.integerValue == 90 - mark)
            }
        }
    }

    @Test("creates a direct conversation", .covers("A6", "A8"))
    func new() async throws {
        try await withNode { node in
            let bob = try await node.signedIn(.bob)
            let made = try await bob.call("conversations.open", ["user_id": .string(Person.frank.id)])
            expectConversation(made)
            #expect(made["kind"] == "direct")
            #expect(made["title"] == .null)
            #expect(made["created_by"]?.stringValue == Person.bob.id)
            #expect(made["participant1_id"]?.stringValue == Person.bob.id)
            #expect(made["participant2_id"]?.stringValue == Person.frank.id)
            #expect(made["last_seq"] == 0)
            #expect(made["unread_count"] == 0)
            #expect(made["last_message_content"] == .null)
            #expect(made["version"] == 1)
            #expect(Set(made["members"]?.arrayValue?.compactMap { $0["role"] }.map(\.text) ?? []) == ["\"member\""])
            #expect(try await bob.call("conversations.open", ["user_id": .string(Person.frank.id)]) == made)
            #expect(
                try await node.signedIn(.frank).call("conversations.open", ["user_id": .string(Person.bob.id)]) == made)
        }
    }

    @Test("row 58a: restores a member that SQL removed, with all messages")
    func healing() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            try await alice.sync()
            try await bob.sync()
            let removals = [[Person.alice, .bob], [.alice], [.bob]]
            for (number, gone) in (removals + removals).enumerated() {
                for person in gone {
                    try await node.database.psql(
                        """
                        delete from public.conversation_members
                         where user_id = '\(person.id)' and conversation_id = '\(Room.aliceBob)'
                        """)
                    let client = person == .alice ? alice : bob
                    try await client.follow("the removal") { $0.conversations[Room.aliceBob] == nil }
                    try await client.refused(
                        .notFound, "messages.send", ["conversation_id": .string(Room.aliceBob), "content": "x"])
                }
                let (opener, other) = number < removals.count ? (alice, Person.bob.id) : (bob, Person.alice.id)
                #expect(try await opener.conversation(with: other) == Room.aliceBob)
                for client in [alice, bob] {
                    try await client.follow("the conversation") {
                        $0.conversations[Room.aliceBob]?["members"]?.arrayValue?.count == 2
                    }
                }
                try await alice.send("back \(number)", to: Room.aliceBob)
                try await bob.follow("the message") { $0.has("back \(number)", in: Room.aliceBob) }
            }
        }
    }

    @Test("row 58a: restores both members once if raced after a removal")
    func healingRace() async throws {
        try await withNode(NodeSettings(poolSize: 8)) { node in
            try await node.database.psql(
                "delete from public.conversation_members where conversation_id = '\(Room.aliceBob)'")
            try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<8 {
                    let (me, other) = number.isMultiple(of: 2) ? (Person.alice, Person.bob) : (.bob, .alice)
                    group.addTask { try await node.signedIn(me).conversation(with: other.id) }
                }
                for try await id in group { #expect(id == Room.aliceBob) }
            }
            let members = "select count(*) from public.conversation_members where conversation_id = '\(Room.aliceBob)'"
            #expect(try await node.database.value(members) == "2")
        }
    }

    @Test("row 58a: does not restore a deleted user")
    func healingDeleted() async throws {
        try await withNode { node in
            try await node.database.psql(
                """
                update public.user_profiles set is_deleted = true where id = '\(Person.bob.id)';
                delete from public.conversation_members where conversation_id = '\(Room.aliceBob)'
                """)
            let alice = try await node.signedIn(.alice)
            try await alice.refused(.notFound, "conversations.open", ["user_id": .string(Person.bob.id)])
        }
    }

    @Test("creates one conversation if raced from eight connections", .covers("A6"))
    func race() async throws {
        try await withNode(NodeSettings(poolSize: 8)) { node in
            let ids = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<8 {
                    let (me, other) = number.isMultiple(of: 2) ? (Person.carol, Person.frank) : (.frank, .carol)
                    group.addTask { try await node.signedIn(me).conversation(with: other.id) }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(ids.count == 8)
            #expect(Set(ids).count == 1)
            #expect(
                try await node.database.value(
                    "select count(*) from public.conversations where participant1_id = '\(Person.carol.id)' and participant2_id = '\(Person.frank.id)'"
                ) == "1")
        }
    }

    @Test("rejects oneself, unknown and deleted users")
    func refusals() async throws {
        try await withNode { node in
            let bob = try await node.signedIn(.bob)
            try await bob.refused(
                .invalidParams, "conversations.open", ["user_id": .string(Person.bob.id)], field: "user_id")
            try await bob.refused(.invalidParams, "conversations.open", field: "user_id")
            try await bob.refused(.invalidParams, "conversations.open", ["user_id": "bob"], field: "user_id")
            try await bob.refused(.invalidParams, "conversations.open", ["userid": "bob"], field: "userid")
            try await bob.refused(.notFound, "conversations.open", ["user_id": .string(nobody)])
            try await node.database.psql(
                "update public.user_profiles set is_deleted = true where username in ('alice', 'frank')")
            try await bob.refused(.notFound, "conversations.open", ["user_id": .string(Person.frank.id)])
            #expect(try await bob.conversation(with: Person.alice.id) == Room.aliceBob)
        }
    }
}
