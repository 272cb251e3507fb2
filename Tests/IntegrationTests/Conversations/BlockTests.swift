import Accounts
import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("Blocks", .timeLimit(.minutes(20)))
struct BlockTests {
    @Test("ends presence, typing and messages of two users, on every node, until it ends")
    func bothDirections() async throws {
        try await withTwoNodes(.telling()) { one, other in
            let alice = try await one.signedIn(.alice)
            let bob = try await other.signedIn(.bob)
            let carol = try await other.signedIn(.carol)
            for client in [alice, bob, carol] { try await client.sync() }
            try await alice.follow("Bob's coming") { $0.showsOnline(.bob) }
            try await bob.follow("Alice's coming") { $0.showsOnline(.alice) }

            #expect(try await alice.call("users.block", Self.bob) == ["user_ids": [.string(Person.bob.id)]])
            for client in [alice, bob] {
                try await client.lag()
                let delta = try await client.sync(from: client.cursor)
                #expect(delta.allSatisfy { $0["reset"] == false })
            }
            await #expect(alice.state.blocked == [Person.bob.id])
            await #expect(!alice.state.showsOnline(.bob))
            await #expect(bob.state.blocked == [])
            await #expect(!bob.state.showsOnline(.alice))
            await #expect(bob.state.presence[Person.alice.id]?["last_seen_at"] == .null)
            for client in [alice, bob] {
                let refusal = try await client.refused(.forbidden, "messages.send", Self.message(to: Room.aliceBob))
                #expect(refusal?.message == "You cannot write in this conversation.")
                try await client.call("conversations.typing", ["conversation_id": .string(Room.aliceBob)])
                try await client.call("conversations.typing", ["conversation_id": .string(Room.alps)])
                try await client.call("messages.send", Self.message(to: Room.alps))
            }
            #expect(try await alice.typing(upTo: "alice", on: one.database) == 0)
            #expect(try await bob.typing(upTo: "bob", on: one.database) == 0)
            #expect(try await carol.typing(upTo: "carol", on: one.database) == 2)
            // A new session comes and goes unseen.
            await alice.close()
            try await carol.follow("Alice's going") { !$0.showsOnline(.alice) }
            let back = try await one.signedIn(.alice)
            let world = try await back.sync()
            #expect(world.first?["blocked"] == [.string(Person.bob.id)])
            try await carol.follow("Alice's coming back") { $0.showsOnline(.alice) }
            #expect(try await bob.presence(upTo: "unseen", on: one.database).allSatisfy { $0.showsNothing(of: .alice) })

            #expect(try await back.call("users.unblock", Self.bob) == ["user_ids": []])
            try await bob.lag()
            try await bob.sync(from: bob.cursor)
            await #expect(bob.state.showsOnline(.alice))
            try await bob.call("messages.send", Self.message(to: Room.aliceBob))
        }
    }

    @Test("a client that reconnects with its cursor has the list and the presence")
    func reconnect() async throws {
        try await withNode(.telling()) { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            for client in [alice, bob] {
                try await client.sync()
                try await client.call("sync.close")
            }
            let carol = try await node.signedIn(.carol)
            try await carol.sync()
            try await carol.call("users.block", Self.bob)
            // Of another pair, which changes nothing for Alice.
            #expect(try await alice.sync(from: alice.cursor, live: false).allSatisfy { $0["blocked"] == nil })
            let device = try await node.signedIn(.carol)
            #expect(try await device.sync(live: false).first?["blocked"] == [.string(Person.bob.id)])
            try await carol.call("users.unblock", Self.bob)
            let delta = try await device.sync(from: device.cursor, live: false)
            #expect(delta.compactMap { $0["blocked"] } == [[]])
            #expect(try await device.sync(from: device.cursor, live: false).allSatisfy { $0["blocked"] == nil })
        }
    }

    @Test("refuses new conversations, groups and search results, without a word of who blocks")
    func newConversations() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let stranger = try await node.stranger()
            let id = await stranger.userID
            try await alice.call("users.block", ["user_id": .string(id)])
            for (client, asked) in [(alice, id), (stranger, Person.alice.id)] {
                let refusals = [
                    try await client.refused(.notFound, "conversations.open", ["user_id": .string(asked)]),
                    try await client.refused(
                        .notFound, "conversations.create_group", ["title": "Us", "member_ids": [.string(asked)]]),
                    try await client.refused(.notFound, "conversations.open", ["user_id": .string(nobody)]),
                ]
                #expect(Set(refusals.map { $0?.message }) == ["There is no such user."])
            }
            try await alice.refused(
                .invalidParams, "users.block", ["user_id": .string(Person.alice.id)], field: "user_id")
            try await alice.refused(.invalidParams, "users.block", field: "user_id")
            try await alice.refused(.notFound, "users.block", ["user_id": .string(nobody)])
            #expect(try await stranger.call("users.blocked") == ["user_ids": []])
        }
    }

    @Test("a batch of sends refuses the blocked ones and stores the others")
    func batch() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            try await alice.call("users.block", Self.bob)
            let rooms = (0..<40).map { $0.isMultiple(of: 2) ? Room.aliceBob : Room.alps }
            let outcomes = try await withThrowingTaskGroup(of: (String, String?).self) { group in
                for room in rooms {
                    group.addTask {
                        do {
                            try await bob.call("messages.send", Self.message(to: room))
                            return (room, nil)
                        } catch let error as RemoteError {
                            return (room, error.code)
                        }
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.allSatisfy { $0.1 == ($0.0 == Room.alps ? nil : "forbidden") })
        }
    }

    @Test("limits how often a user blocks and unblocks")
    func rateLimit() async throws {
        try await withNode(NodeSettings(rates: .init())) { node in
            let alice = try await node.signedIn(.alice)
            for _ in 0..<10 {
                try await alice.call("users.block", Self.bob)
                try await alice.call("users.unblock", Self.bob)
            }
            try await alice.refused(.rateLimited, "users.block", Self.bob)
        }
    }

    private static let bob: JSONObject = ["user_id": .string(Person.bob.id)]

    private static func message(to room: String) -> JSONObject {
        ["conversation_id": .string(room), "content": "Hello"]
    }
}

extension JSON {
    /// Returns true if a presence object is not the person's, or says nothing.
    fileprivate func showsNothing(of person: Person) -> Bool {
        self["user_id"] != .string(person.id) || self["is_online"] == false && self["last_seen_at"] == .null
    }
}
