import LineClient
import NIOCore
import TestSupport
import Testing
import WireProtocol

/// The rows of the messages feature from end to end: one client's line, the server, PostgreSQL, another client's line.
@Suite("Messages", .timeLimit(.minutes(20)))
struct MessagesFeatureTests {
    @Test(
        "each action of a messages tab is one function call",
        .covers("A1", "A2", "A3", "A4", "A5", "A6", "A17")
    )
    func screens() async throws {
        try await TestDatabase.with { database in
            try await database.countCalls()
            try await withNode(database) { node in try await Self.useScreens(of: node) }
            #expect(
                try await database.callsOfRequests() == [
                    "search_profiles": 1, "open_conversation": 2, "send_message": 2, "conversations": 2, "messages": 2,
                    "mark_read": 1,
                    // Used by open_conversation for its result.
                    "conversation": 2,
                ])
        }
    }

    /// Acts on the screens of the document, by its names.
    private static func useScreens(of node: TestNode) async throws {
        let bob = try await node.signedIn(.bob)

        // searchUsers, getOrCreateConversation
        let found = try await bob.call("profiles.search", ["query": "frank"])
        let frankID = try #require(found["profiles"]?[0]?["id"])
        let opened = try await bob.call("conversations.open", ["user_id": frankID])
        #expect(opened["last_seq"] == 0)

        // sendMessage
        let room = try #require(opened["id"]?.stringValue)
        try await bob.send("Hello Frank", to: room)
        try await bob.send("Are you there?", to: room)

        // fetchConversations: newest first, with the other user's profile in the same answer
        let frank = try await node.signedIn(.frank)
        let list = try await frank.call("conversations.list")
        let first = list["conversations"]?[0]
        #expect(first?["id"]?.stringValue == room)
        #expect(first?["last_message_content"] == "Are you there?")
        #expect(first?["unread_count"] == 2)
        let other = list["profiles"]?.arrayValue?.first { $0["id"]?.stringValue == Person.bob.id }
        #expect(other?["full_name"] == "Bob Okafor")

        // fetchMessages, with the sender's current profile
        let messages = try await frank.call("messages.list", ["conversation_id": .string(room)])["messages"]
        #expect(messages?.arrayValue?.map { $0["content"] } == ["Hello Frank", "Are you there?"])
        #expect(messages?[0]?["sender"]?["username"] == "bob")

        // markMessagesAsRead
        let mark = try await frank.call("messages.mark_read", ["conversation_id": .string(room), "seq": 2])
        #expect(mark["unread_count"] == 0)
        #expect(try await frank.call("conversations.list")["conversations"]?[0]?["unread_count"] == 0)
        #expect(
            try await bob.call("messages.list", ["conversation_id": .string(room)])["messages"]?[1]?["is_read"]
                == true)

        // Getting or creating it again, from either side, returns the same.
        #expect(try await frank.conversation(with: Person.bob.id) == room)
    }

    @Test(
        "any insert updates the conversation's last message",
        .covers("A8", "A21", "A22", "F2"))
    func lastMessage() async throws {
        try await withNode(NodeSettings(poolSize: 6)) { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { for number in 0..<30 { try await alice.send("alice \(number)", to: Room.aliceBob) } }
                group.addTask { for number in 0..<30 { try await bob.send("bob \(number)", to: Room.aliceBob) } }
                group.addTask {
                    for number in 0..<10 {
                        try await node.database.psql(
                            "insert into public.messages (conversation_id, sender_id, content) values ('\(Room.aliceBob)', '\(Person.bob.id)', 'psql \(number)')"
                        )
                    }
                }
                try await group.waitForAll()
            }
            func expectTrue() async throws {
                let newest = try await bob.call(
                    "messages.list", ["conversation_id": .string(Room.aliceBob), "limit": 1])["messages"]?[0]
                let conversation = try await bob.call("conversations.get", ["conversation_id": .string(Room.aliceBob)])
                #expect(conversation["last_message_content"] == newest?["content"])
                #expect(conversation["last_message_time"] == newest?["created_at"])
                #expect(conversation["last_message_sender_id"] == newest?["sender_id"])
                #expect(conversation["last_seq"] == newest?["seq"])
            }
            try await expectTrue()
            #expect(
                try await bob.call("conversations.get", ["conversation_id": .string(Room.aliceBob)])["last_seq"] == 160)
            try await node.database.psql(
                "insert into public.messages (conversation_id, sender_id, content) values ('\(Room.aliceBob)', '\(Person.alice.id)', 'last of all')"
            )
            try await expectTrue()
            #expect(
                try await bob.call("conversations.list")["conversations"]?[0]?["last_message_content"] == "last of all")
        }
    }

    @Test(
        "a user accesses only its own conversations",
        .covers("A10", "A13", "A14", "A15", "A21", "A25", "F2")
    )
    func rules() async throws {
        try await withNode { node in
            let frank = try await node.signedIn(.frank)
            for (method, more) in [
                ("conversations.get", [:]), ("messages.list", [:]), ("messages.send", ["content": "let me in"]),
                ("messages.mark_read", ["seq": 1]),
            ] as [(String, JSONObject)] {
                let params = JSONObject([.init(name: "conversation_id", value: .string(Room.aliceBob))] + more.members)
                try await frank.refused(.notFound, method, params)
            }
            #expect(
                try await frank.call("conversations.list")["conversations"]?.arrayValue?.map { $0["id"] } == [
                    .string(Room.bookClub)
                ])
            let world = try await frank.answerText("sync.open", ["live": false])
            for hidden in [Room.aliceBob, Room.alps, Person.bob.id, Person.dave.id] { #expect(!world.contains(hidden)) }
            // The user is that of the token. No parameter can name another.
            try await frank.refused(
                .invalidParams, "messages.send",
                ["conversation_id": .string(Room.bookClub), "content": "x", "sender_id": .string(Person.alice.id)],
                field: "sender_id")
            try await frank.refused(
                .invalidParams, "conversations.list", ["user_id": .string(Person.alice.id)], field: "user_id")
            // The same policies apply to SQL.
            try await node.database.psql(
                as: Person.frank.id,
                "insert into public.messages (conversation_id, sender_id, content) values ('\(Room.bookClub)', '\(Person.frank.id)', 'by SQL')"
            )
            let newest = try await frank.call(
                "messages.list", ["conversation_id": .string(Room.bookClub), "limit": 1])["messages"]?[0]
            #expect(newest?["content"] == "by SQL" && newest?["sender_id"]?.stringValue == Person.frank.id)
            let asFrank = TestDatabase.rights(of: Person.frank.id)
            try await node.database.psql(
                "begin; \(asFrank) select 1 / (count(*) = 1)::int from public.conversations; rollback")
            try await node.database.psql(
                "begin; \(asFrank) select 1 / (count(*) = 0)::int from public.messages where conversation_id <> '\(Room.bookClub)'; rollback"
            )
            await #expect(throws: (any Error).self) {
                try await node.database.psql(
                    "begin; \(asFrank) insert into public.messages (conversation_id, sender_id, content) values ('\(Room.aliceBob)', '\(Person.frank.id)', 'x'); rollback"
                )
            }
            await #expect(throws: (any Error).self) {
                try await node.database.psql(
                    "begin; \(asFrank) insert into public.messages (conversation_id, sender_id, content) values ('\(Room.bookClub)', '\(Person.alice.id)', 'x'); rollback"
                )
            }
        }
    }

    @Test(
        "errors have a code, a class and a retry flag",
        .covers("A27", "D25")
    )
    func errors() async throws {
        try await withNode { node in
            let anybody = try await node.connect()
            let silent = try await anybody.refused(.unauthenticated, "conversations.list")
            #expect(silent?.number == 401)
            #expect(silent?.isRetryable == false)
            let alice = try await node.signedIn(.alice)
            let shown = try await alice.refused(.notFound, "conversations.get", ["conversation_id": .string(nobody)])
            #expect(shown?.number == 404)
            #expect(shown?.message.isEmpty == false)
            let text = try await alice.answerText("conversations.get", ["conversation_id": .string(nobody)])
            let error = try JSON(parsing: ByteBuffer(string: text))["error"]
            #expect(error?.names == ["code", "message", "data"])
            #expect(error?["data"]?.names == ["code", "retryable"])
        }
    }

    @Test("delivers messages live and after a reconnect", .covers("A29"))
    func realtime() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            var bob = try await node.signedIn(.bob)
            try await bob.sync()
            let sent = try await alice.send("while you are here", to: Room.aliceBob)
            #expect(try await bob.nextChanges()["messages"] == [sent])
            let cursor = await bob.cursor
            await bob.close()
            try await alice.send("while you are away", to: Room.aliceBob)
            bob = try await node.signedIn(.bob)
            let missed = try await bob.sync(from: cursor)
            #expect(missed[0]["messages"]?.arrayValue?.map { $0["content"] } == ["while you are away"])
            try await alice.send("welcome back", to: Room.aliceBob)
            #expect(try await bob.nextChanges()["messages"]?[0]?["content"] == "welcome back")
        }
    }
}
