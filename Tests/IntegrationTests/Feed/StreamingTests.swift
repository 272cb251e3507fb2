import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("Change streaming", .timeLimit(.minutes(20)))
struct StreamingTests {
    /// Alice twice, Bob, and Frank, who shares only the book club with Alice.
    private struct Audience {
        let alice: TestClient
        let aliceElsewhere: TestClient
        let bob: TestClient
        let frank: TestClient

        init(_ node: TestNode) async throws {
            alice = try await node.signedIn(.alice)
            aliceElsewhere = try await node.signedIn(.alice)
            bob = try await node.signedIn(.bob)
            frank = try await node.signedIn(.frank)
            for client in [alice, aliceElsewhere, bob, frank] { try await client.sync() }
        }
    }

    @Test("a sent message reaches both users' sessions", .covers("C22"))
    func message() async throws {
        try await withNode { node in
            let audience = try await Audience(node)
            let sent = try await audience.alice.send("hello", to: Room.aliceBob)
            for client in [audience.alice, audience.aliceElsewhere, audience.bob] {
                let changes = try await client.nextChanges()
                #expect(changes.names == ["cursor", "reset", "more", "messages", "reads"])
                #expect(changes["messages"] == [sent])
                #expect(changes["messages"]?[0]?["sender"]?["avatar_id"] == "fox")
                #expect(
                    changes["reads"] == [
                        [
                            "conversation_id": .string(Room.aliceBob), "user_id": .string(Person.alice.id),
                            "last_read_seq": 91,
                        ]
                    ])
            }
            #expect(try await audience.frank.pushesUpTo("end", on: node.database) == [])
        }
    }

    @Test("a message written by psql is pushed")
    func messageByPsql() async throws {
        try await withNode { node in
            let audience = try await Audience(node)
            try await node.database.psql(
                "insert into public.messages (conversation_id, sender_id, content) values ('\(Room.aliceBob)', '\(Person.bob.id)', 'by psql')"
            )
            for client in [audience.alice, audience.aliceElsewhere, audience.bob] {
                let changes = try await client.nextChanges()
                #expect(changes["messages"]?.arrayValue?.map { $0["content"] } == ["by psql"])
                #expect(changes["messages"]?[0]?["seq"] == 91)
            }
            try await SyncOpenTests.expectEqual(audience.alice, node.database, newest: 20)
            #expect(try await audience.frank.pushesUpTo("end", on: node.database) == [])
        }
    }

    @Test("edits and deletions by psql keep the place, and move the preview")
    func editByPsql() async throws {
        try await withNode { node in
            let audience = try await Audience(node)
            let last = "conversation_id = '\(Room.aliceBob)' and seq = 90"
            try await node.database.psql("update public.messages set content = 'edited' where \(last)")
            for client in [audience.alice, audience.bob] {
                let message = try await client.nextChanges()["messages"]?[0]
                #expect(message?["content"] == "edited")
                #expect(message?["version"] == 2)
                expectTimestamp(message?["edited_at"])
            }
            let conversation = try await audience.bob.call(
                "conversations.get", ["conversation_id": .string(Room.aliceBob)])
            #expect(conversation["last_message_content"] == "edited")
            try await node.database.psql("update public.messages set deleted_at = now() where \(last)")
            let message = try await audience.alice.nextChanges()["messages"]?[0]
            #expect(message?["seq"] == 90)
            #expect(message?["content"] == .null)
            expectTimestamp(message?["deleted_at"])
        }
    }

    @Test("a profile change reaches its owner as Me and contacts as Profile", .covers("B27", "C24"))
    func profile() async throws {
        try await withNode { node in
            let audience = try await Audience(node)
            let me = try await audience.bob.call("me.update", ["full_name": "Robert Okafor"])
            let own = try await audience.bob.nextChanges()
            #expect(own.names == ["cursor", "reset", "more", "me"])
            #expect(own["me"] == me)
            for client in [audience.alice, audience.aliceElsewhere] {
                let changes = try await client.nextChanges()
                #expect(changes.names == ["cursor", "reset", "more", "profiles"])
                #expect(changes["profiles"]?.arrayValue?.map { $0["full_name"] } == ["Robert Okafor"])
                #expect(changes["profiles"]?[0]?["version"] == me["version"])
            }
            #expect(try await audience.frank.pushesUpTo("end", on: node.database) == [])
        }
    }

    @Test("a profile changed by psql is pushed", .covers("F3"))
    func profileByPsql() async throws {
        try await withNode { node in
            let audience = try await Audience(node)
            try await node.database.psql(
                "update public.user_profiles set full_name = 'Alice by SQL' where username = 'alice'")
            for client in [audience.alice, audience.aliceElsewhere] {
                #expect(try await client.nextChanges()["me"]?["full_name"] == "Alice by SQL")
            }
            for client in [audience.bob, audience.frank] {
                #expect(try await client.nextChanges()["profiles"]?[0]?["full_name"] == "Alice by SQL")
            }
        }
    }

    @Test("private fields reach the owner's sessions only")
    func privateProfile() async throws {
        try await withNode { node in
            let audience = try await Audience(node)
            try await audience.alice.call("me.update", ["phone_number": "+4915112345678"])
            for client in [audience.alice, audience.aliceElsewhere] {
                #expect(try await client.nextChanges()["me"]?["phone_number"] == "+4915112345678")
            }
            for client in [audience.bob, audience.frank] {
                #expect(try await client.pushesUpTo("end", on: node.database) == [])
            }
        }
    }

    @Test("members see the changed profile of a former member who wrote")
    func formerMember() async throws {
        try await withNode { node in
            // Dave wrote in the group and shares no other conversation with Carol.
            let carol = try await node.signedIn(.carol)
            try await carol.sync()
            try await node.database.psql(
                "delete from public.conversation_members where conversation_id = '\(Room.alps)' and user_id = '\(Person.dave.id)'"
            )
            try await carol.follow { $0.conversations[Room.alps]?["members"]?.arrayValue?.count == 3 }
            try await node.signedIn(.dave).call("me.update", ["full_name": "Dave, who left"])
            try await carol.follow { $0.profiles[Person.dave.id]?["full_name"] == "Dave, who left" }
        }
    }

    @Test("a read mark reaches all members, by a client or psql", .covers("A4"))
    func read() async throws {
        try await withNode { node in
            let audience = try await Audience(node)
            let dave = try await node.signedIn(.dave)
            // All marks but the sender's are before it.
            let last = try #require(try await audience.alice.send("news", to: Room.alps)["seq"]?.integerValue)
            for client in [audience.alice, audience.aliceElsewhere, audience.bob] { try await client.nextChanges() }
            try await dave.call("messages.mark_read", ["conversation_id": .string(Room.alps), "seq": .integer(last)])
            let mark: JSON = [
                "conversation_id": .string(Room.alps), "user_id": .string(Person.dave.id),
                "last_read_seq": .integer(last),
            ]
            for client in [audience.alice, audience.aliceElsewhere, audience.bob] {
                let changes = try await client.nextChanges()
                #expect(changes.names == ["cursor", "reset", "more", "reads"])
                #expect(changes["reads"] == [mark])
            }
            try await node.database.psql(
                "update public.conversation_members set last_read_seq = \(last) where conversation_id = '\(Room.alps)' and user_id = '\(Person.carol.id)'"
            )
            for client in [audience.alice, audience.bob] {
                #expect(try await client.nextChanges()["reads"]?[0]?["user_id"]?.stringValue == Person.carol.id)
            }
            #expect(try await audience.frank.pushesUpTo("end", on: node.database) == [])
        }
    }

    @Test("a new conversation reaches both with profile and messages", .covers("C16", "C21"))
    func opened() async throws {
        try await withNode { node in
            let audience = try await Audience(node)
            let id = try await audience.bob.conversation(with: Person.frank.id)
            let changes = try await audience.frank.nextChanges()
            expectConversation(changes["conversations"]?[0])
            #expect(changes["conversations"]?[0]?["id"]?.stringValue == id)
            #expect(changes["profiles"]?.arrayValue?.map { $0["username"] } == ["bob"])
            #expect(changes["profiles"]?.arrayValue?.map { $0["avatar_id"] } == ["otter"])
            let own = try await audience.bob.nextChanges()
            #expect(own["conversations"]?[0]?["id"]?.stringValue == id)
            #expect(own["profiles"]?.arrayValue?.map { $0["username"] } == ["frank"])
            try await audience.bob.send("welcome", to: id)
            #expect(try await audience.frank.nextChanges()["messages"]?[0]?["content"] == "welcome")
            #expect(try await audience.alice.pushesUpTo("end", on: node.database) == [])
        }
    }

    @Test("a group's title and roles reach members as each sees them")
    func metadata() async throws {
        try await withNode { node in
            let audience = try await Audience(node)
            try await node.database.psql(
                "update public.conversations set title = 'Alps again' where id = '\(Room.alps)'")
            for client in [audience.alice, audience.bob] {
                let changes = try await client.nextChanges()
                #expect(changes.names == ["cursor", "reset", "more", "conversations"])
                let whole = try await client.call("conversations.get", ["conversation_id": .string(Room.alps)])
                #expect(whole["title"] == "Alps again")
                #expect(changes["conversations"] == [whole])
            }
            try await node.database.psql(
                "update public.conversation_members set role = 'admin' where conversation_id = '\(Room.alps)' and user_id = '\(Person.dave.id)'"
            )
            let changes = try await audience.bob.nextChanges()
            let dave = changes["conversations"]?[0]?["members"]?.arrayValue?.first {
                $0["user_id"]?.stringValue == Person.dave.id
            }
            #expect(dave?["role"] == "admin")
        }
    }

    @Test("an update without effect is not pushed")
    func noChange() async throws {
        try await withNode { node in
            let audience = try await Audience(node)
            try await node.database.psql(
                """
                update public.user_profiles set full_name = full_name, bio = bio;
                update public.conversations set title = title;
                update public.conversation_members set last_read_seq = last_read_seq;
                update public.messages set content = content where conversation_id = '\(Room.aliceBob)';
                """)
            try await audience.bob.call("messages.mark_read", ["conversation_id": .string(Room.aliceBob), "seq": 0])
            for client in [audience.alice, audience.bob] {
                #expect(try await client.pushesUpTo("end", on: node.database) == [])
            }
        }
    }

    @Test("a change undone in its transaction is not pushed")
    func rolledBack() async throws {
        try await withNode { node in
            let audience = try await Audience(node)
            try await node.database.psql(
                """
                begin;
                insert into public.messages (conversation_id, sender_id, content) values ('\(Room.aliceBob)', '\(Person.bob.id)', 'never');
                update public.user_profiles set full_name = 'never' where username = 'bob';
                rollback;
                """)
            #expect(try await audience.alice.pushesUpTo("end", on: node.database) == [])
            // And leaves no gap.
            #expect(try await audience.alice.send("next", to: Room.aliceBob)["seq"] == 91)
        }
    }
}
