import LineClient
import Messaging
import Testing

@Suite("conversations.open", .timeLimit(.minutes(60)))
struct OpenConversationTests {
    @Test("gives the one direct conversation of the two, from both sides, each as it sees it")
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

    @Test("makes one where there was none")
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

    @Test("raced from eight connections of both sides, there is one")
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

    @Test("not with oneself, nobody, or one who is deleted; one that exists stays open to its members")
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
