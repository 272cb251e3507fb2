import LineClient
import Testing
@testable import WireProtocol

@Suite("Membership changes", .timeLimit(.minutes(20)))
struct MembershipTests {
    @Test("a membership deleted by psql ends the conversation for its user")
    func removed() async throws {
        try await withNode { node in
            let dave = try await node.signedIn(.dave)
            let alice = try await node.signedIn(.alice)
            try await dave.sync()
            try await alice.sync()
            try await node.database.psql(
                "delete from public.conversation_members where conversation_id = '\(Room.alps)' and user_id = '\(Person.dave.id)'"
            )
            let changes = try await dave.nextChanges()
            #expect(changes.names == ["cursor", "reset", "more", "left"])
            #expect(changes["left"] == [.string(Room.alps)])
            let seen = try await alice.nextChanges()
            #expect(seen["conversations"]?[0]?["members"]?.arrayValue?.count == 3)

            try await alice.send("without dave", to: Room.alps)
            try await node.database.psql(
                "update public.conversations set title = 'Without Dave' where id = '\(Room.alps)'")
            try await alice.call("messages.mark_read", ["conversation_id": .string(Room.alps), "seq": 1_000])
            #expect(try await dave.pushesUpTo("end", on: node.database) == [])
        }
    }

    @Test("row 40: nothing follows left while messages flow")
    func removedInAFlow() async throws {
        try await withNode { node in
            let dave = try await node.signedIn(.dave)
            try await dave.sync()
            let stop = CompletionFlag()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for person in [Person.alice, .bob] {
                    group.addTask {
                        let client = try await node.signedIn(person)
                        var number = 0
                        while await !stop.isDone {
                            number += 1
                            try await client.send("\(person) \(number)", to: Room.alps)
                        }
                    }
                }
                try await dave.follow("the flow") { $0.messages[Room.alps]?.count ?? 0 > 40 }
                try await node.database.psql(
                    "delete from public.conversation_members where conversation_id = '\(Room.alps)' and user_id = '\(Person.dave.id)'"
                )
                try await dave.follow("left") { $0.conversations[Room.alps] == nil }
                let arrivals = await dave.state.arrivals[Room.alps] ?? []
                #expect(arrivals == Array((arrivals.first ?? 0)...(arrivals.last ?? 0)))
                let after = try await dave.pushesUpTo("end", on: node.database)
                #expect(after == [])
                await stop.done()
                try await group.waitForAll()
            }
        }
    }

    @Test("a new member gets the whole conversation in one push")
    func joined() async throws {
        try await withNode { node in
            let erin = try await node.signedIn(.erin)
            let bob = try await node.signedIn(.bob)
            try await erin.sync()
            try await bob.sync()
            try await node.database.psql(
                "insert into public.conversation_members (conversation_id, user_id) values ('\(Room.alps)', '\(Person.erin.id)')"
            )
            let changes = try await erin.nextChanges()
            let whole = try await erin.call("conversations.get", ["conversation_id": .string(Room.alps)])
            #expect(changes["conversations"] == [whole])
            #expect(
                Set(changes["profiles"]?.arrayValue?.compactMap { $0["username"]?.stringValue } ?? []) == [
                    "alice", "bob", "carol", "dave",
                ])
            let newest = try await erin.call("messages.list", ["conversation_id": .string(Room.alps), "limit": 20])
            #expect(changes["messages"] == newest["messages"])
            #expect(changes["limited"] == [.string(Room.alps)])
            #expect(changes["reads"] == nil)
            // A new member's mark is the last seq at joining.
            #expect(whole["unread_count"] == 0)
            #expect(whole["last_read_seq"] == whole["last_seq"])
            // The others get the conversation with the new member, and her profile.
            let seen = try await bob.nextChanges()
            #expect(seen["conversations"]?[0]?["members"]?.arrayValue?.count == 5)
            #expect(seen["profiles"]?.arrayValue?.map { $0["username"] } == ["erin"])
            #expect(seen["messages"] == nil)
            // From here on she is a member.
            try await bob.send("hello erin", to: Room.alps)
            try await erin.follow { $0.has("hello erin", in: Room.alps) }
        }
    }

    @Test("a member added again gets left before the conversation")
    func back() async throws {
        try await withNode { node in
            let dave = try await node.signedIn(.dave)
            let away = try await node.signedIn(.dave)
            try await dave.sync()
            try await away.sync(live: false)
            try await node.database.psql(
                """
                begin;
                delete from public.conversation_members where conversation_id = '\(Room.alps)' and user_id = '\(Person.dave.id)';
                insert into public.conversation_members (conversation_id, user_id) values ('\(Room.alps)', '\(Person.dave.id)');
                commit;
                """)
            let push = try await dave.nextChanges()
            let delta = try await away.sync(from: await away.cursor, live: false)[0]
            for changes in [push, delta] {
                #expect(changes["left"] == [.string(Room.alps)])
                #expect(changes["conversations"]?.arrayValue?.map { $0["id"] } == [.string(Room.alps)])
                #expect(changes["messages"]?.arrayValue?.count == 20)
            }
            try await SyncOpenTests.expectEqual(dave, node.database, newest: 20)
            try await SyncOpenTests.expectEqual(away, node.database, newest: 20)
        }
    }

    @Test("a member removed while offline gets left in the delta")
    func leftInDelta() async throws {
        try await withNode { node in
            let dave = try await node.signedIn(.dave)
            try await dave.sync(live: false)
            let cursor = await dave.cursor
            try await node.signedIn(.alice).send("before dave goes", to: Room.alps)
            try await node.database.psql(
                "delete from public.conversation_members where conversation_id = '\(Room.alps)' and user_id = '\(Person.dave.id)'"
            )
            let delta = try await dave.sync(from: cursor, live: false)[0]
            #expect(delta.names == ["cursor", "reset", "more", "left"])
            try await SyncOpenTests.expectEqual(dave, node.database, newest: 20)
        }
    }
}

/// A flag that is set once.
actor CompletionFlag {
    private(set) var isDone = false

    func done() { isDone = true }
}
