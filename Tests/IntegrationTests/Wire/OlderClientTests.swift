import Foundations
import LineClient
import NIOCore
import SchemaValidation
import TestSupport
import Testing
import WireProtocol

@Suite("A client of the previous version", .timeLimit(.minutes(20)))
struct OlderClientTests {
    /// The OpenAPI document of commit 4479162d, the last one before replies, reactions and what came with them: what
    /// this scenario calls, without descriptions.
    private let api: SchemaValidator

    init() throws {
        let text = try Repository.text("Tests/IntegrationTests/Fixtures/openapi-4479162d.json")
        api = SchemaValidator(try JSON(parsing: ByteBuffer(string: text)))
    }

    @Test("gets all that its version promised, while others use new features")
    func promises() async throws {
        var settings = NodeSettings()
        settings.deliveryInterval = .zero
        try await withPictures(settings) { node, _ in
            let (bob, carol) = (try await node.signedIn(.bob), try await node.signedIn(.carol))
            let alice = OlderClient(try await node.connect(), api)
            try await alice.begin()
            try await alice.talk()
            // Both change the same conversations at the same time.
            async let news: Void = useNewFeatures(bob, carol)
            try await alice.talk()
            try await alice.changeGroups()
            try await news
            try await alice.client.follow("the last new message") { $0.has("the end", in: Room.aliceBob) }
            try await alice.talk()
            try await alice.compare()
            // The other kinds were there.
            #expect(await alice.newKinds == ["audio", "custom", "file", "video"])
        }
    }

    /// Replies, mentions, reacts, pins, streams, schedules, acknowledges, and sends files in Alice's conversations.
    private func useNewFeatures(_ bob: TestClient, _ carol: TestClient) async throws {
        func send(
            _ more: JSONObject, by client: TestClient = bob, to room: String = Room.aliceBob
        ) async throws -> JSON {
            let room = JSONObject.Member(name: "conversation_id", value: .string(room))
            return try await client.call("messages.send", JSONObject([room] + more.members))
        }
        let file: JSONObject = ["url": "https://a.example.com/b.pdf", "mime_type": "application/pdf", "name": "b.pdf"]
        let voice: JSONObject = ["url": "https://a.example.com/c.ogg", "duration_ms": 1_500, "waveform": "AAEC"]
        let later = try await bob.call(
            "messages.schedule",
            [
                "conversation_id": .string(Room.aliceBob), "content": "scheduled",
                "due_at": .string(Timestamp.after(seconds: 1)),
            ])
        try await carol.sync()
        try await bob.sync()
        let started = try await send(["content": "", "is_streaming": true])
        let target: JSONObject = ["conversation_id": .string(Room.aliceBob), "seq": started["seq"] ?? .null]
        for (start, letter) in ["a", "b", "c"].enumerated() {
            let piece: JSONObject = ["start": .integer(start), "content": .string(letter)]
            try await bob.call("messages.append", JSONObject(target.members + piece.members))
        }
        try await bob.call("messages.react", ["conversation_id": .string(Room.aliceBob), "seq": 91, "emoji": "👍"])
        try await bob.call("messages.pin", ["conversation_id": .string(Room.aliceBob), "seq": 91])
        _ = try await send(
            [
                "content": "A reply", "reply_to_seq": 91, "mentions": [.string(Person.alice.id)], "data": ["a": 1],
            ])
        _ = try await send(["kind": "file", "attachments": [.object(file), .object(voice)]])
        _ = try await send(["kind": "audio", "attachment": .object(voice)])
        _ = try await send(["kind": "video", "attachments": [["url": "https://a.example.com/d.mp4"]]])
        _ = try await send(["kind": "custom", "content": "A poll", "data": ["poll": true]])
        try await bob.call("messages.finish", target)
        _ = try await send(["content": "Hello", "mentions_everyone": true], to: Room.alps)
        _ = try await send(["content": "In the group", "reply_to_seq": 1], by: carol, to: Room.alps)
        try await carol.call(
            "messages.react", ["conversation_id": .string(Room.alps), "seq": 1, "emoji": "ship_it"])
        try await bob.call("conversations.update", ["conversation_id": .string(Room.alps), "data": ["a": 1]])
        try await bob.call(
            "conversations.set", ["conversation_id": .string(Room.aliceBob), "is_pinned": true, "is_archived": true])
        try await bob.follow("the scheduled message") { $0.has("scheduled", in: Room.aliceBob) }
        #expect(later["error"] == .null)
        try await bob.call("sync.ack", ["cursor": .string(await bob.cursor)])
        _ = try await send(["content": "the end"])
    }
}

/// A client that knows only the previous version: all that it sends and gets is checked by that version's schemas, which
/// permit more members.
private actor OlderClient {
    let client: TestClient
    private let api: SchemaValidator

    /// The kinds of messages that the previous version did not have. Its clients show the content of an unknown kind.
    private(set) var newKinds: Set<String> = []
    private var checkedChanges = 0

    init(_ client: TestClient, _ api: SchemaValidator) {
        self.client = client
        self.api = api
    }

    @discardableResult
    private func call(_ method: String, _ params: JSONObject = [:]) async throws -> JSON {
        let request = try #require(api.request(of: method), "\(method)")
        #expect(api.flaws(of: .object(params), against: request) == [], "\(method)")
        let answer = try await client.call(method, params)
        check(answer, against: try #require(api.result(of: method), "\(method)"), method)
        return answer
    }

    private func check(_ value: JSON, against schema: JSON, _ what: String) {
        for flaw in api.flaws(of: value, against: schema) {
            if let kind = flaw.wholeMatch(of: /.*\.kind: "(video|audio|file|custom)" is none of those.*/)?.1 {
                newKinds.insert(String(kind))
            } else {
                Issue.record("\(what): \(flaw)")
            }
        }
    }

    /// Signs in, and opens a live sync.
    func begin() async throws {
        try await call("server.info")
        try await call("auth.login", ["email": .string(Person.alice.email), "password": .string(TestNode.password)])
        try await call("me.get")
        // It checks the pages with the pushes.
        try await client.sync(messages: 20)
    }

    /// Calls what a client calls while its user talks to Bob, and checks what was pushed.
    func talk() async throws {
        let (room, bob) = (JSON.string(Room.aliceBob), JSON.string(Person.bob.id))
        try await call("conversations.open", ["user_id": bob, "profiles": true])
        let new: JSONObject = [
            "conversation_id": room, "content": "A text", "client_id": .string(randomUUID()), "kind": "text",
        ]
        let sent = try await call("messages.send", new)
        #expect(try await call("messages.send", new)["id"] == sent["id"])
        let seq = sent["seq"] ?? .null
        try await call("messages.edit", ["conversation_id": room, "seq": seq, "content": "An edited text"])
        let picture = try await call(
            "messages.send",
            ["conversation_id": room, "kind": "image", "attachment": ["media_id": try await upload(to: room)]])
        #expect(picture["attachment"]?["mime_type"] == "image/png")
        try await call(
            "media.urls", ["ids": [picture["attachment"]?["media_id"] ?? .null]])
        try await call(
            "messages.send",
            ["conversation_id": room, "kind": "image", "attachment": ["url": "https://a.example.com/b.png"]])
        let gone = try await call("messages.send", ["conversation_id": room, "content": "To be deleted"])
        try await call("messages.delete", ["conversation_id": room, "seq": gone["seq"] ?? .null])
        try await call("messages.mark_read", ["conversation_id": room, "seq": gone["seq"] ?? .null])
        try await call("messages.list", ["conversation_id": room, "limit": 200])
        try await call("messages.list", ["conversation_id": room, "before_seq": seq, "limit": 5])
        try await call("messages.list", ["conversation_id": room, "after_seq": 88])
        try await call("conversations.typing", ["conversation_id": room])
        try await call("conversations.mute", ["conversation_id": room, "until": "2030-01-01T00:00:00Z"])
        try await call("conversations.mute", ["conversation_id": room, "until": .null])
        try await call("conversations.list", ["limit": 50])
        try await call("profiles.get", ["ids": [bob]])
        try await call("presence.get", ["user_ids": [bob]])
        // What the page contains is not pushed again.
        let page = try await call("sync.open", ["cursor": .string(await client.cursor), "live": true])
        await client.take(page)
        try await refused()
        try await checkChanges()
    }

    private func upload(to room: JSON) async throws -> JSON {
        let created = try await call(
            "media.create",
            ["purpose": "message", "mime_type": "image/png", "bytes": 1_000, "conversation_id": room, "width": 3])
        let url = try #require(created["upload"]?["url"]?.stringValue)
        #expect(try await PictureAnswer.put(picture(), to: url).status == 204)
        return created["id"] ?? .null
    }

    /// Changes a group, and leaves it to Bob.
    func changeGroups() async throws {
        let (bob, frank) = (JSON.string(Person.bob.id), JSON.string(Person.frank.id))
        let group = try await call("conversations.create_group", ["title": "New", "member_ids": [bob]])
        let id = group["id"] ?? .null
        try await call("conversations.get", ["conversation_id": id, "profiles": true])
        try await call("conversations.update", ["conversation_id": id, "title": "Newer"])
        try await call(
            "conversations.add_members", ["conversation_id": id, "user_ids": [frank], "profiles": true])
        try await call("messages.send", ["conversation_id": id, "content": "Hello"])
        try await call("conversations.set_role", ["conversation_id": id, "user_id": bob, "role": "owner"])
        try await call("conversations.remove_member", ["conversation_id": id, "user_id": .string(Person.alice.id)])
        let alps = JSON.string(Room.alps)
        try await call("conversations.get", ["conversation_id": alps])
        try await call("messages.list", ["conversation_id": alps, "limit": 200])
    }

    /// Expects an error of the previous form.
    private func refused() async throws {
        let text = try await client.answerText(
            "messages.edit", ["conversation_id": .string(Room.aliceBob), "seq": 1_000, "content": "x"])
        let error = try #require(try JSON(parsing: ByteBuffer(string: text))["error"], "\(text)")
        check(error, against: try #require(api.element("components", "schemas", "Error")), "an error")
        #expect(error["data"]?["code"] == "not_found")
    }

    private func checkChanges() async throws {
        let schema = try #require(api.result(of: "sync.open"))
        let received = await client.received
        for changes in received[checkedChanges...] { check(changes, against: schema, "changes") }
        checkedChanges = received.count
    }

    /// Compares what it has got by the changes with what a new client of its version gets.
    func compare() async throws {
        try await call("me.update", ["bio": "all"])
        try await client.follow("all changes") { $0.me?["bio"] == "all" }
        try await checkChanges()
        let known: Set<String> = [
            "id", "seq", "sender_id", "client_id", "kind", "content", "attachment", "version", "edited_at",
            "deleted_at",
        ]
        let state = await client.state
        for room in [Room.aliceBob, Room.alps] {
            let list = try await call("messages.list", ["conversation_id": .string(room), "limit": 200])
            for message in try #require(list["messages"]?.arrayValue) {
                guard let seq = message["seq"]?.integerValue, let stored = state.messages[room]?[seq] else { continue }
                for name in known { #expect(stored[name] == message[name], "\(name) of \(seq) in \(room)") }
                // What a client shows of a message whose kind or features it does not know.
                #expect(message["content"] != .null || message["deleted_at"] != .null)
            }
            #expect(list["messages"]?.arrayValue?.last?["seq"]?.integerValue == state.messages[room]?.keys.max())
        }
    }
}
