import BoundedWait
import Foundations
import LineClient
import Postgres
import Testing
import WireProtocol

@Suite("Messages that stream", .timeLimit(.minutes(20)))
struct StreamedMessageTests {
    private static func start(_ more: JSONObject = [:]) -> JSONObject {
        let message: JSONObject = ["conversation_id": .string(Room.aliceBob), "is_streaming": true]
        return JSONObject(message.members.filter { more[$0.name] == nil } + more.members)
    }

    private static func piece(_ seq: JSON?, _ start: Int, _ content: String) -> JSONObject {
        [
            "conversation_id": .string(Room.aliceBob), "seq": seq ?? .null, "start": .integer(start),
            "content": .string(content),
        ]
    }

    private static func message(_ seq: JSON?) -> JSONObject {
        ["conversation_id": .string(Room.aliceBob), "seq": seq ?? .null]
    }

    @Test("pieces are pushed by both nodes, and the end is an edit")
    func pushes() async throws {
        try await withTwoNodes { one, other in
            let (alice, phone) = (try await one.signedIn(.alice), try await other.signedIn(.alice))
            let bob = try await other.signedIn(.bob)
            for client in [alice, phone, bob] { try await client.sync() }
            let sent = try await alice.call("messages.send", Self.start())
            let seq = sent["seq"]
            #expect(sent["content"] == "" && sent["version"] == 1)
            for client in [phone, bob] {
                let begun = try await client.nextNotification().params()
                #expect(begun["messages"]?[0]?["seq"] == seq)
                #expect(begun["pieces"] == [.object(Self.piece(seq, 0, ""))])
            }
            var length = 0
            for text in ["Once", " upon 😀", " a time"] {
                let answer = try await alice.call("messages.append", Self.piece(seq, length, text))
                for client in [phone, bob] {
                    #expect(
                        try await client.nextNotification().params()["pieces"]
                            == [.object(Self.piece(seq, length, text))])
                }
                length += text.unicodeScalars.count
                #expect(answer["length"] == .integer(length))
                // A repeated call changes nothing.
                let again = Self.piece(seq, length - text.unicodeScalars.count, text)
                #expect(try await alice.call("messages.append", again) == answer)
            }
            let whole = Self.piece(seq, 0, "Once upon 😀 a time")
            let list = try await bob.call("messages.list", ["conversation_id": .string(Room.aliceBob), "limit": 1])
            #expect(list["pieces"] == [.object(whole)] && list["messages"]?[0]?["content"] == "")
            let reset = try await other.signedIn(.bob).call("sync.open", ["live": false])
            #expect(reset["pieces"] == [.object(whole)])
            let finished = try await alice.call("messages.finish", Self.message(seq))
            #expect(finished["content"] == "Once upon 😀 a time" && finished["version"] == 2)
            #expect(finished["edited_at"] == .null)
            for client in [phone, bob] {
                let ended = try await client.nextNotification().params()
                #expect(ended["messages"]?[0]?["content"] == finished["content"] && ended["pieces"] == nil)
            }
            #expect(try await alice.call("messages.finish", Self.message(seq)) == finished)
            let after = try await bob.call("messages.list", ["conversation_id": .string(Room.aliceBob), "limit": 1])
            #expect(after["pieces"] == [])
        }
    }

    @Test("a client that reconnects gets what it misses of a text")
    func reconnects() async throws {
        try await withNode { node in
            let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
            let sent = try await alice.call("messages.send", Self.start(["content": "One"]))
            let first = try await bob.call("sync.open", ["live": false])
            #expect(first["pieces"] == [.object(Self.piece(sent["seq"], 0, "One"))])
            for (start, text) in [(3, " two"), (7, " three")] {
                try await alice.call("messages.append", Self.piece(sent["seq"], start, text))
            }
            let delta = try await bob.call("sync.open", ["cursor": first["cursor"] ?? .null, "live": false])
            #expect(delta["reset"] == false && delta["messages"] == nil)
            #expect(delta["pieces"] == [.object(Self.piece(sent["seq"], 3, " two three"))])
            try await alice.call("messages.finish", Self.message(sent["seq"]))
            let end = try await bob.call("sync.open", ["cursor": first["cursor"] ?? .null, "live": false])
            #expect(end["pieces"] == nil && end["messages"]?[0]?["content"] == "One two three")
        }
    }

    @Test("concurrent pieces at one place are stored once")
    func concurrent() async throws {
        try await withTwoNodes { one, other in
            let (alice, phone) = (try await one.signedIn(.alice), try await other.signedIn(.alice))
            let seq = try await alice.call("messages.send", Self.start())["seq"]
            for place in 0..<20 {
                // The same piece twice, as after a lost response, and another.
                let answers = await withTaskGroup { group in
                    for (client, text) in [(alice, "a"), (phone, "a"), (phone, "b")] {
                        group.addTask {
                            (try? await client.call("messages.append", Self.piece(seq, place, text))).map { _ in text }
                        }
                    }
                    return await group.compactMap(\.self).reduce(into: []) { $0.append($1) }
                }
                #expect(answers == ["a", "a"] || answers == ["b"])
            }
            let text = try await alice.call("messages.finish", Self.message(seq))["content"]?.stringValue
            #expect(text?.count == 20)
        }
    }

    @Test("a message that nobody continues is finished")
    func abandoned() async throws {
        try await withNode { node in
            let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
            let (written, empty) = (
                try await alice.call("messages.send", Self.start(["content": "Half"])),
                try await alice.call("messages.send", Self.start())
            )
            try await bob.sync()
            try await node.database.psql("update app.message_streams set appended_at = now() - interval '61 seconds'")
            var ended: [JSON] = []
            while ended.count < 2 {
                ended += try await bob.nextNotification().params()["messages"]?.arrayValue ?? []
            }
            #expect(ended.map { $0["version"] } == [2, 2])
            for message in ended {
                #expect(message["content"] == (message["seq"] == written["seq"] ? "Half" : .null))
                #expect((message["deleted_at"] == .null) == (message["seq"] != empty["seq"]))
            }
        }
    }

    @Test("refuses strangers, other senders, gaps, edits and files")
    func refused() async throws {
        try await withNode { node in
            let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
            let carol = try await node.signedIn(.carol)
            let id = JSON.string("00000000-0000-4000-8000-0000000000bb")
            let seq = try await alice.call("messages.send", Self.start(["content": "A", "client_id": id]))["seq"]
            // The same message, as after a lost response.
            #expect(
                try await alice.call("messages.send", Self.start(["content": "A", "client_id": id]))["seq"] == seq)
            try await alice.refused(
                .clientIDReused, "messages.send", Self.start(["content": "B", "client_id": id]), field: "client_id")
            try await carol.refused(.notFound, "messages.send", Self.start())
            try await carol.refused(.notFound, "messages.append", Self.piece(seq, 1, "B"))
            try await carol.refused(.notFound, "messages.finish", Self.message(seq))
            try await bob.refused(.forbidden, "messages.append", Self.piece(seq, 1, "B"))
            try await bob.refused(.forbidden, "messages.finish", Self.message(seq))
            try await alice.refused(.invalidParams, "messages.append", Self.piece(seq, 2, "B"), field: "start")
            try await alice.refused(.invalidParams, "messages.append", Self.piece(seq, 0, "B"), field: "start")
            try await alice.refused(.invalidParams, "messages.append", Self.piece(seq, 1, ""), field: "content")
            try await alice.refused(
                .invalidParams, "messages.append", Self.piece(seq, 1, String(repeating: "x", count: 8_000)),
                field: "content")
            let edit = JSONObject(Self.message(seq).members + [.init(name: "content", value: "x")])
            try await alice.refused(.forbidden, "messages.edit", edit)
            try await alice.refused(
                .invalidParams, "messages.send",
                Self.start(["kind": "file", "attachment": ["url": "https://example.com/a.pdf"]]),
                field: "is_streaming")
            try await alice.call("messages.delete", Self.message(seq))
            try await alice.refused(.forbidden, "messages.append", Self.piece(seq, 1, "B"))
            let empty = try await alice.call("messages.send", Self.start())["seq"]
            try await alice.refused(.forbidden, "messages.finish", Self.message(empty))
        }
    }
}
