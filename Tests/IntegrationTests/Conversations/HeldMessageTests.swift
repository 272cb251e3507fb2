import Foundations
import LineClient
import Testing
import WireProtocol

@Suite("Held messages", .timeLimit(.minutes(10)))
struct HeldMessageTests {
    private static let room = JSON.string(Room.aliceBob)

    /// Holds messages with the word "gamble", and makes Carol a moderator. Returns a client of hers.
    private static func moderator(_ node: TestNode) async throws -> TestClient {
        try await FilterTests.filter("add", "gamble", "--action", "hold", on: node.database)
        try await node.database.psql(
            "update public.user_private set is_moderator = true where id = '\(Person.carol.id)'")
        return try await node.signedIn(.carol)
    }

    private static func message(_ seq: JSON?) -> JSONObject { ["conversation_id": room, "seq": seq ?? .null] }

    private static func expectHeld(
        _ message: JSON?, _ content: String, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        expectMessage(message, sourceLocation: sourceLocation)
        #expect(message?["is_held"] == true, sourceLocation: sourceLocation)
        #expect(message?["content"] == .string(content), sourceLocation: sourceLocation)
        #expect(message?["deleted_at"] == .null, sourceLocation: sourceLocation)
        #expect(message?["version"] == 2, sourceLocation: sourceLocation)
    }

    private static func expectDeleted(
        _ message: JSON?, version: Int, sourceLocation: SourceLocation = #_sourceLocation
    ) {
        expectMessage(message, sourceLocation: sourceLocation)
        #expect(message?["is_held"] == nil, sourceLocation: sourceLocation)
        #expect(message?["content"] == .null, sourceLocation: sourceLocation)
        #expect(message?["deleted_at"]?.stringValue != nil, sourceLocation: sourceLocation)
        #expect(message?["version"] == .integer(version), sourceLocation: sourceLocation)
    }

    @Test("row 65b: the sender's devices get the text, others a deleted message, and all get it once it is released")
    func releases() async throws {
        try await withTwoNodes { one, other in
            let carol = try await Self.moderator(one)
            let (alice, phone) = (try await one.signedIn(.alice), try await other.signedIn(.alice))
            let bob = try await other.signedIn(.bob)
            for client in [alice, phone, bob] { try await client.sync() }
            let before = await bob.cursor
            let id = "00000000-0000-4000-8000-0000000000dd"
            let params: JSONObject = [
                "conversation_id": Self.room, "content": "Let us GAMBLE", "client_id": .string(id),
            ]
            let sent = try await alice.call("messages.send", params)
            Self.expectHeld(sent, "Let us GAMBLE")
            #expect(try await alice.call("messages.send", params) == sent)
            // A fence: what comes next to each is the message, and only its own form.
            for client in [alice, phone] {
                let told = try await client.nextChanges()
                #expect(told["messages"]?.arrayValue?.count == 1)
                Self.expectHeld(told["messages"]?[0], "Let us GAMBLE")
            }
            let told = try await bob.nextChanges()
            Self.expectDeleted(told["messages"]?[0], version: 1)
            #expect(!told.text.contains("GAMBLE") && told["messages"]?.arrayValue?.count == 1)
            let list: JSONObject = ["conversation_id": Self.room, "limit": 1]
            Self.expectHeld(try await phone.call("messages.list", list)["messages"]?[0], "Let us GAMBLE")
            Self.expectDeleted(try await bob.call("messages.list", list)["messages"]?[0], version: 1)
            let reset = try await other.signedIn(.alice).call("sync.open", ["live": false])
            Self.expectHeld(
                reset["messages"]?.arrayValue?.first { $0["id"] == sent["id"] }, "Let us GAMBLE")

            let queue = try await carol.call("moderation.held")
            #expect(queue["held"]?[0]?["message"] == sent && queue["held"]?[0]?["words"] == ["gamble"])
            #expect(queue["next"] == .null)
            for (client, method) in [(alice, "release"), (bob, "reject")] {
                try await client.refused(.forbidden, "moderation.\(method)", Self.message(sent["seq"]))
            }
            try await alice.refused(.forbidden, "moderation.held")
            let decided = try await carol.call("moderation.release", Self.message(sent["seq"]))
            #expect(decided["version"] == 3 && decided["deleted_at"] == .null)
            for client in [alice, phone, bob] {
                let released = try await client.nextChanges()["messages"]?[0]
                expectMessage(released)
                #expect(released?["content"] == "Let us GAMBLE" && released?["version"] == 3)
                #expect(released?["edited_at"] == .null && released?["is_held"] == nil)
            }
            try await carol.refused(.notFound, "moderation.release", Self.message(sent["seq"]))
            #expect(try await carol.call("moderation.held")["held"] == [])
            let conversation = try await bob.call("conversations.get", ["conversation_id": Self.room])
            #expect(conversation["last_message_content"] == "Let us GAMBLE")
            // A device that was away gets only the last form.
            let away = try await one.signedIn(.bob)
            let missed = try await away.call("sync.open", ["cursor": .string(before), "live": false])
            #expect(missed["messages"]?.arrayValue?.map { $0["version"] } == [3])
        }
    }

    @Test("a device that returns gets the held form, and then the decision")
    func reconnects() async throws {
        try await withNode { node in
            let carol = try await Self.moderator(node)
            let (alice, phone) = (try await node.signedIn(.alice), try await node.signedIn(.alice))
            try await phone.sync(live: false)
            let sent = try await alice.send("gamble", to: Room.aliceBob)
            let missed = try await phone.sync(from: await phone.cursor, live: false)
            Self.expectHeld(missed[0]["messages"]?[0], "gamble")
            try await carol.call("moderation.reject", Self.message(sent["seq"]))
            let decided = try await phone.sync(from: await phone.cursor, live: false)
            Self.expectDeleted(decided[0]["messages"]?[0], version: 3)
            #expect(try await phone.sync(from: await phone.cursor, live: false)[0]["messages"] == nil)
        }
    }

    @Test("the sender deletes a held message, and cannot edit it")
    func deletes() async throws {
        try await withNode { node in
            let carol = try await Self.moderator(node)
            let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
            let seq = try await alice.send("gamble", to: Room.aliceBob)["seq"]
            for client in [alice, bob] { try await client.sync() }
            try await alice.refused(
                .forbidden, "messages.edit", ["conversation_id": Self.room, "seq": seq ?? .null, "content": "x"])
            Self.expectDeleted(try await alice.call("messages.delete", Self.message(seq)), version: 3)
            for client in [alice, bob] {
                Self.expectDeleted(try await client.nextChanges()["messages"]?[0], version: 3)
            }
            try await carol.refused(.notFound, "moderation.release", Self.message(seq))
            try await alice.refused(
                .contentRefused, "messages.edit",
                [
                    "conversation_id": Self.room, "content": "gamble",
                    "seq": try await alice.send("x", to: Room.aliceBob)["seq"] ?? .null,
                ], field: "content")
        }
    }

    @Test("a conversation that begins with a held message shows it to its sender only")
    func begins() async throws {
        try await withNode { node in
            _ = try await Self.moderator(node)
            let (frank, erin) = (try await node.signedIn(.frank), try await node.signedIn(.erin))
            for client in [frank, erin] { try await client.sync() }
            let room = try await frank.conversation(with: Person.erin.id)
            let sent = try await frank.send("gamble", to: room)
            try await frank.follow("the own message") { $0.messages[room]?[1]?["is_held"] == true }
            try await erin.follow("the message") { $0.messages[room]?[1] != nil }
            Self.expectHeld(sent, "gamble")
            Self.expectDeleted(await erin.state.messages[room]?[1], version: 1)
        }
    }

    @Test("a released message is pushed like a new one, and a held one is not")
    func pushes() async throws {
        try await withNode { node in
            let carol = try await Self.moderator(node)
            let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
            _ = try await bob.call("messages.mark_read", ["conversation_id": Self.room, "seq": 1_000])
            let seq = try await alice.send("gamble", to: Room.aliceBob)["seq"]
            try await node.database.psql("select app.queue_pushes()")
            #expect(try await node.database.value("select count(*) from app.push_queue") == "0")
            try await carol.call("moderation.release", Self.message(seq))
            #expect(
                try await node.database.value("select conversation_id || ' ' || seq from app.push_queue")
                    == "\(Room.aliceBob) \(seq?.text ?? "")")
        }
    }

    @Test("the operator lists, releases and rejects")
    func administers() async throws {
        try await withNode { node in
            _ = try await Self.moderator(node)
            let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
            let seqs = try await ["gamble one", "gamble two"].asyncMap {
                try await alice.send($0, to: Room.aliceBob)["seq"]?.text ?? ""
            }
            func held(_ arguments: String...) async throws -> (status: Int32, output: String, errors: String) {
                try await Command.run(
                    ["admin", "held"] + arguments,
                    environment: ["POSTLINE_ADMIN_DATABASE_URL": node.database.adminURL])
            }
            let list = try await held()
            #expect(list.status == 0 && list.output.contains("gamble one") && list.output.contains("Held: 2."))
            #expect(try await held("release", Room.aliceBob, seqs[0]).status == 0)
            let rejected = try await held("reject", Room.aliceBob, seqs[1])
            #expect(rejected.status == 0 && rejected.output.contains("rejected"), "\(rejected.errors)")
            #expect(try await held("reject", Room.aliceBob, seqs[1]).status == 3)
            #expect(try await held().output.contains("No message is held."))
            let seen = try await bob.call("messages.list", ["conversation_id": Self.room, "limit": 2])
            #expect(seen["messages"]?.arrayValue?.map { $0["content"] } == ["gamble one", .null])
        }
    }
}
