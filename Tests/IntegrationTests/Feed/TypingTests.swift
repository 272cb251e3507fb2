import LineClient
@testable import Postgres
import TestSupport
import Testing
import WireProtocol

@Suite("conversations.typing", .timeLimit(.minutes(20)))
struct TypingTests {
    @Test("notifies live members on every node, once in two seconds")
    func otherMembers() async throws {
        // The limit never refills, however busy the machine.
        try await withTwoNodes(NodeSettings(rates: .withoutRefill)) { one, other in
            let alice = try await one.signedIn(.alice)
            let second = try await other.signedIn(.alice)
            let bob = try await one.signedIn(.bob)
            let carol = try await other.signedIn(.carol)
            let frank = try await other.signedIn(.frank)
            for client in [alice, second, bob, carol, frank] { try await client.sync() }
            let answer = try await alice.call("conversations.typing", ["conversation_id": .string(Room.alps)])
            #expect(answer == .object([:]))
            for client in [bob, carol] {
                let push = try await client.nextNotification()
                #expect(push.method == "typing")
                #expect(
                    JSON.object(try push.params()) == [
                        "conversation_id": .string(Room.alps), "user_id": .string(Person.alice.id), "is_typing": true,
                        "expires_in": 6,
                    ])
            }
            // Within two seconds: answered and dropped.
            _ = try await alice.call("conversations.typing", ["conversation_id": .string(Room.alps)])
            // In another conversation it is sent at once.
            _ = try await alice.call(
                "conversations.typing", ["conversation_id": .string(Room.aliceBob), "is_typing": false])
            let push = try await bob.nextNotification()
            #expect(try push.params()["conversation_id"]?.stringValue == Room.aliceBob)
            #expect(try push.params()["is_typing"] == false)
            // A later commit arrives later in each of these ways, so nothing came before.
            for client in [alice, second, carol, frank] {
                #expect(try await client.typing(upTo: "typing", on: one.database) == 0)
            }
        }
    }

    @Test("typing rejects users that are not members", .covers("row 65"))
    func stranger() async throws {
        try await withNode { node in
            let frank = try await node.signedIn(.frank)
            let bob = try await node.signedIn(.bob)
            try await bob.sync()
            for _ in 0..<3 {
                try await frank.refused(.notFound, "conversations.typing", ["conversation_id": .string(Room.alps)])
            }
            _ = try await frank.refused(
                .invalidParams, "conversations.typing", ["conversation_id": "here"], field: "conversation_id")
            #expect(try await bob.typing(upTo: "stranger", on: node.database) == 0)
        }
    }

    @Test("is not published while presence is hidden")
    func hidden() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            try await bob.sync()
            let room: JSONObject = ["conversation_id": .string(Room.aliceBob)]
            _ = try await alice.call("me.update", ["preferences": .object(["presence": "nobody"])])
            #expect(try await alice.call("conversations.typing", room) == .object([:]))
            #expect(try await bob.typing(upTo: "hidden", on: node.database) == 0)
            _ = try await alice.call("me.update", ["preferences": .object(["presence": .null])])
            let other: JSONObject = ["conversation_id": .string(Room.alps)]
            _ = try await alice.call("conversations.typing", other)
            // Other changes for him come first.
            while try await bob.nextNotification().method != "typing" {}
        }
    }

    // A10
    @Test("what a node tells the others names neither user nor conversation", .covers("row 65"))
    func payload() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.signedIn(.alice)
            let bob = try await other.signedIn(.bob)
            try await bob.sync()
            let listener = Listener(
                url: one.database.url, channels: ["postline_typing"], on: Reactor(name: "listener"))
            let (events, sink) = AsyncStream.makeStream(of: ListenerEvent.self)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await listener.run { sink.yield($0) } }
                var iterator = events.makeAsyncIterator()
                guard case .listening = await iterator.next() else { throw Missing() }
                _ = try await alice.call("conversations.typing", ["conversation_id": .string(Room.aliceBob)])
                guard case .notified(_, _, let payload) = await iterator.next() else { throw Missing() }
                #expect(try await bob.nextNotification().method == "typing")
                for id in [Room.aliceBob, Person.alice.id] {
                    #expect(!payload.contains(id) && !payload.contains(id.replacing("-", with: "")))
                }
                group.cancelAll()
            }
        }
    }

    private struct Missing: Error {}

    @Test("ignores foreign notifications and stores nothing", .covers("row 65"))
    func channel() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.signedIn(.alice)
            let bob = try await other.signedIn(.bob)
            try await alice.sync()
            try await bob.sync()
            let notice = "\(Room.aliceBob)/\(Person.alice.id)/1"
            for payload in ["", "typing", notice, "00 \(Person.carol.id) 1 \(notice)"] {
                try await one.database.psql("select pg_notify('postline_typing', '\(payload)')")
            }
            #expect(try await bob.typing(upTo: "channel", on: one.database) == 0)
            _ = try await alice.call("conversations.typing", ["conversation_id": .string(Room.aliceBob)])
            #expect(try await bob.nextNotification().method == "typing")
            // A later client receives nothing of it.
            let later = try await other.signedIn(.bob)
            try await later.sync()
            #expect(try await later.typing(upTo: "later", on: one.database) == 0)
        }
    }
}

extension TestClient {
    /// Returns the number of typing notices up to a change of the user's own data by SQL.
    func typing(upTo fence: String, on database: TestDatabase) async throws -> Int {
        try await database.psql(
            "update public.user_private set preferences = preferences || '{\"fence\":\"\(fence)\"}' where id = '\(userID)'"
        )
        var count = 0
        while state.me?["preferences"]?["fence"]?.stringValue != fence {
            let push = try await nextNotification()
            if push.method == "typing" { count += 1 }
            if push.method == "changes" { take(.object(try push.params())) }
        }
        return count
    }
}
