import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("The filter of words", .timeLimit(.minutes(10)))
struct FilterTests {
    static func filter(_ arguments: String..., on database: TestDatabase) async throws {
        let run = try await Command.run(
            ["admin", "filter"] + arguments, environment: ["POSTLINE_ADMIN_DATABASE_URL": database.adminURL])
        #expect(run.status == 0, "\(run.errors)")
    }

    @Test("refuses and masks what is sent together with other messages, in their order")
    func sends() async throws {
        try await withNode { node in
            try await Self.filter("add", "idiot", on: node.database)
            try await Self.filter("add", "darn", "--action", "mask", "--scope", "messages", on: node.database)
            let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
            try await bob.sync()
            let room = JSON.string(Room.aliceBob)
            try await alice.refused(
                .contentRefused, "messages.send", ["conversation_id": room, "content": "An IDIOT"], field: "content")
            try await alice.refused(.contentRefused, "me.update", ["bio": "No idiot"], field: "bio")
            let texts = (1...20).map { $0.isMultiple(of: 5) ? "darn \($0)" : "message \($0)" }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for text in texts {
                    group.addTask { _ = try await alice.send(text, to: Room.aliceBob) }
                }
                try await group.waitForAll()
            }
            let list = try await bob.call("messages.list", ["conversation_id": room, "limit": 20])
            let contents = list["messages"]?.arrayValue?.compactMap { $0["content"]?.stringValue } ?? []
            #expect(Set(contents) == Set(texts.map { $0.replacing("darn", with: "****") }))
            // A repeated send of a masked message is the same message.
            let message: JSONObject = [
                "conversation_id": room, "content": "darn", "client_id": "00000000-0000-4000-8000-0000000000cc",
            ]
            let sent = try await alice.call("messages.send", message)
            #expect(sent["content"] == "****")
            #expect(try await alice.call("messages.send", message)["seq"] == sent["seq"])
            try await Self.filter("remove", "idiot", on: node.database)
            #expect(try await alice.send("An idiot", to: Room.aliceBob)["content"] == "An idiot")
        }
    }
}
