import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("messages.send", .timeLimit(.minutes(20)))
struct SendTests {
    private static let clientID = "12345678-1234-4234-8234-123456789abc"

    @Test("returns the complete message with the next number", .covers("A3", "A10", "C22"))
    func send() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let content = "  Kept as sent: e\u{301}\u{202E}\n\t\u{7}😀 \"quotes\" \\ "
            let message = try await alice.send(content, to: Room.aliceBob)
            expectMessage(message)
            #expect(message["seq"] == 91)
            #expect(message["conversation_id"]?.stringValue == Room.aliceBob)
            #expect(message["sender_id"]?.stringValue == Person.alice.id)
            #expect(message["sender"]?["full_name"] == "Alice Moreau")
            #expect(message["sender"]?["username"] == "alice")
            expectFox(message)
            #expect(message["content"] == .string(content))
            #expect(message["kind"] == "text")
            #expect(message["client_id"] == .null)
            #expect(message["attachment"] == .null)
            #expect(message["is_read"] == false)
            #expect(message["version"] == 1)
            #expect(message["edited_at"] == .null)
            #expect(message["deleted_at"] == .null)
            let list = try await alice.call("messages.list", ["conversation_id": .string(Room.aliceBob), "limit": 1])
            #expect(list["messages"]?[0] == message)
        }
    }

    /// Expects the message's sender to have Alice's fox avatar.
    private func expectFox(_ message: JSON?, sourceLocation: SourceLocation = #_sourceLocation) {
        let sender = message?["sender"]
        #expect(sender?["id"]?.stringValue == Person.alice.id, sourceLocation: sourceLocation)
        #expect(sender?["avatar_type"] == "built_in", sourceLocation: sourceLocation)
        #expect(sender?["avatar_id"] == "fox", sourceLocation: sourceLocation)
        #expect(sender?["avatar_url"] == .null, sourceLocation: sourceLocation)
    }

    @Test("moves only the sender's read mark")
    func ownMark() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let before = try await alice.call("conversations.get", ["conversation_id": .string(Room.alps)])
            try await alice.send("mine", to: Room.alps)
            let after = try await alice.call("conversations.get", ["conversation_id": .string(Room.alps)])
            let last = (before["last_seq"]?.integerValue ?? 0) + 1
            #expect(after["last_read_seq"]?.integerValue == last)
            #expect(after["unread_count"] == 0)
            func others(_ conversation: JSON) -> [JSON?] {
                (conversation["members"]?.arrayValue ?? []).filter { $0["user_id"]?.stringValue != Person.alice.id }
                    .map { $0["last_read_seq"] }
            }
            #expect(others(after) == others(before))
        }
    }

    @Test("returns the same message for a repeated client_id")
    func idempotent() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.signedIn(.alice)
            let params: JSONObject = [
                "conversation_id": .string(Room.aliceBob), "content": "once", "client_id": .string(Self.clientID),
            ]
            let message = try await alice.call("messages.send", params)
            #expect(message["client_id"]?.stringValue == Self.clientID)
            #expect(try await alice.call("messages.send", params) == message)
            let elsewhere = try await other.signedIn(.alice)
            #expect(try await elsewhere.call("messages.send", params) == message)
            try await one.database.psql(
                "update public.messages set content = 'edited' where client_id = '\(Self.clientID)'")
            let again = try await alice.call("messages.send", params)
            #expect(again["id"] == message["id"])
            #expect(again["content"] == "edited")
            try await one.database.psql(
                "update public.messages set deleted_at = now() where client_id = '\(Self.clientID)'")
            #expect(try await alice.call("messages.send", params)["content"] == .null)
            #expect(
                try await one.database.value(
                    "select count(*) from public.messages where content = 'once' or client_id = '\(Self.clientID)'")
                    == "1")
        }
    }

    @Test("rejects a client_id reused for other content")
    func reused() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            func params(_ changes: (String, JSON)...) -> JSONObject {
                var members: [(String, JSON)] = [
                    ("conversation_id", .string(Room.aliceBob)), ("content", "one"),
                    ("client_id", .string(Self.clientID)),
                ]
                for change in changes { members.removeAll { $0.0 == change.0 }; members.append(change) }
                return JSONObject(members.map { .init(name: $0.0, value: $0.1) })
            }
            let message = try await alice.call("messages.send", params())
            let error = try await alice.refused(.clientIDReused, "messages.send", params(("content", "two")))
            #expect(error?.field == "client_id")
            try await alice.refused(
                .clientIDReused, "messages.send",
                params(("kind", "image"), ("attachment", ["url": "https://a.example.com/b.png"])))
            let bob = try await node.signedIn(.bob)
            #expect(try await bob.call("messages.send", params(("content", "two")))["id"] != message["id"])
            let elsewhere = try await alice.call(
                "messages.send", params(("content", "two"), ("conversation_id", .string(Room.aliceCarol))))
            #expect(elsewhere["id"] != message["id"])
        }
    }

    @Test("row 23: stores and pushes a concurrently repeated send once")
    func race() async throws {
        try await withTwoNodes(NodeSettings(poolSize: 6)) { one, other in
            let bob = try await other.signedIn(.bob)
            try await bob.sync()
            let ids = try await withThrowingTaskGroup(of: JSON?.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        let alice = try await (number.isMultiple(of: 2) ? one : other).signedIn(.alice)
                        return try await alice.call(
                            "messages.send",
                            [
                                "conversation_id": .string(Room.aliceBob), "content": "raced",
                                "client_id": .string(Self.clientID),
                            ])["id"]
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(ids.count == 8)
            #expect(Set(ids.map { $0?.text }).count == 1)
            let alice = try await one.signedIn(.alice)
            try await alice.send("after", to: Room.aliceBob)
            try await bob.follow { $0.has("after", in: Room.aliceBob) }
            #expect(await bob.state.arrivals[Room.aliceBob]?.suffix(2) == [91, 92])
        }
    }

    @Test("sends an image with or without content", .covers("C23"))
    func image() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let attachment: JSON = [
                "url": "https://images.example.com/a.png", "mime_type": "image/png", "width": 640, "height": 480,
                "bytes": 1024, "media_id": .null, "blurhash": .null, "name": .null, "duration_ms": .null,
                "waveform": .null, "preview_media_id": .null,
            ]
            let message = try await alice.call(
                "messages.send",
                ["conversation_id": .string(Room.aliceBob), "content": "", "kind": "image", "attachment": attachment])
            expectMessage(message)
            expectFox(message)
            let bob = try await node.signedIn(.bob)
            let read = try await bob.call("messages.list", ["conversation_id": .string(Room.aliceBob), "limit": 1])
            expectFox(read["messages"]?[0])
            #expect(message["kind"] == "image")
            #expect(message["content"] == "")
            #expect(message["attachment"] == attachment)
            let silent = try await alice.call(
                "messages.send",
                [
                    "conversation_id": .string(Room.aliceBob), "kind": "image", "content": "look",
                    "attachment": ["url": "https://images.example.com/b.png"],
                ])
            expectMessage(silent)
            // Her own picture appears with the next image.
            let photo = "https://images.example.com/alice.png"
            try await alice.call("me.set_avatar", ["avatar_type": "custom", "avatar_url": .string(photo)])
            let sender = try await alice.call(
                "messages.send",
                [
                    "conversation_id": .string(Room.aliceBob), "kind": "image", "content": "",
                    "attachment": ["url": "https://images.example.com/c.png"],
                ])["sender"]
            #expect(sender?["avatar_type"] == "custom" && sender?["avatar_url"] == .string(photo))
            #expect(sender?["avatar_id"] == .null)
            #expect(
                silent["attachment"] == [
                    "url": "https://images.example.com/b.png", "mime_type": .null, "width": .null, "height": .null,
                    "bytes": .null, "media_id": .null, "blurhash": .null, "name": .null, "duration_ms": .null,
                    "waveform": .null, "preview_media_id": .null,
                ])
        }
    }

    @Test("send rejects invalid params by name")
    func params() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let good: [(String, JSON)] = [("conversation_id", .string(Room.aliceBob)), ("content", "x")]
            let url: JSON = "https://a.example.com/b.png"
            let bad: [(String, [(String, JSON)])] = [
                ("content", [("content", "")]), ("content", [("content", 5)]), ("content", [("content", .null)]),
                ("content", [("content", .string(String(repeating: "x", count: 8_001)))]),
                ("conversation_id", [("conversation_id", "x")]), ("conversation_id", [("conversation_id", .null)]),
                ("client_id", [("client_id", "x")]), ("client_id", [("client_id", 1)]),
                ("kind", [("kind", "system")]), ("kind", [("kind", "sticker")]), ("attachment", [("kind", "video")]),
                ("kind", [("kind", 1)]),
                ("attachment", [("kind", "image")]), ("attachment", [("attachment", "x")]),
                ("attachment", [("kind", "image"), ("attachment", [:])]),
                ("attachment", [("kind", "image"), ("attachment", ["url": "http://a.example.com/b.png"])]),
                ("attachment", [("kind", "image"), ("attachment", ["url": 5])]),
                ("attachment", [("kind", "image"), ("attachment", ["url": url, "width": "wide"])]),
                ("attachment", [("kind", "image"), ("attachment", ["url": url, "bytes": -1])]),
                ("attachment", [("kind", "image"), ("attachment", ["url": url, "mime_type": 5])]),
                ("attachment", [("kind", "image"), ("attachment", ["url": url, "colour": "red"])]),
                ("sender_id", [("sender_id", .string(Person.bob.id))]), ("seq", [("seq", 1)]),
            ]
            for (field, changes) in bad {
                var members = good
                for change in changes { members.removeAll { $0.0 == change.0 }; members.append(change) }
                let error = try await alice.refused(
                    .invalidParams, "messages.send", JSONObject(members.map { .init(name: $0.0, value: $0.1) }))
                #expect(error?.field == field, "\(changes.map { "\($0.0)=\($0.1.text.prefix(80))" })")
            }
            try await alice.refused(.invalidParams, "messages.send", ["content": "x"], field: "conversation_id")
            try await alice.refused(
                .invalidParams, "messages.send", ["conversation_id": .string(Room.aliceBob)], field: "content")
            #expect(
                try await node.database.value("select last_seq from public.conversations where id = '\(Room.aliceBob)'")
                    == "90")
        }
    }

    @Test("row 58: rejects attachment numbers outside 0 to 2^53")
    func attachmentNumbers() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            func answer(_ name: String, _ number: String) async throws -> JSON {
                let attachment = #"{"url":"https://a.example.com/b.png","\#(name)":\#(number)}"#
                let params = try JSON(
                    parsing: #"{"conversation_id":"\#(Room.aliceBob)","kind":"image","attachment":\#(attachment)}"#)
                return try JSON(parsing: try await alice.answerText("messages.send", params))
            }
            for name in ["width", "height", "bytes"] {
                for number in ["0", "20.0", "2e1", "9007199254740992", "null"] {
                    let shown = try await answer(name, number)["result"]?["attachment"]?[name]
                    #expect(shown != nil, "\(name) \(number)")
                }
                for number in [
                    "1.5", "0.1", "-1", "9007199254740993", "9223372036854775807", "9223372036854775808", "1e300",
                    "1e400", "1e-7", "\"3\"", "true",
                ] {
                    let refusal = try await answer(name, number)["error"]?["data"]
                    #expect(refusal?["code"] == "invalid_params" && refusal?["field"] == "attachment", "\(number)")
                }
            }
        }
    }

    @Test("accepts up to 8,000 code points")
    func bounds() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let content = String(repeating: "😀", count: 8_000)
            #expect(try await alice.send(content, to: Room.aliceBob)["content"]?.stringValue == content)
            try await alice.refused(
                .invalidParams, "messages.send",
                ["conversation_id": .string(Room.aliceBob), "content": .string(content + "x")], field: "content")
        }
    }

    @Test("numbers concurrent messages without gaps in commit order")
    func numbering() async throws {
        try await withNode(NodeSettings(poolSize: 8)) { node in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for person in [Person.alice, .bob, .carol, .dave] {
                    group.addTask {
                        let client = try await node.signedIn(person)
                        for number in 0..<25 { try await client.send("\(person) \(number)", to: Room.alps) }
                    }
                }
                try await group.waitForAll()
            }
            let wrong = """
                select count(*) from (select seq, row_number() over (order by seq) n, created_at,
                       lag(created_at) over (order by seq) before
                  from public.messages where conversation_id = '\(Room.alps)') m where seq <> n or created_at < before
                """
            #expect(try await node.database.value(wrong) == "0")
            #expect(
                try await node.database.value(
                    "select last_seq - (select count(*) from public.messages where conversation_id = '\(Room.alps)') from public.conversations where id = '\(Room.alps)'"
                ) == "0")
        }
    }
}
