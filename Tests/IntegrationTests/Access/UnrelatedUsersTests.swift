import LineClient
import TestSupport
import Testing
@testable import WireProtocol

@Suite("Sessions of unrelated users", .timeLimit(.minutes(20)))
struct UnrelatedUsersTests {
    @Test("receives nothing of others' conversations and changes")
    func nothing() async throws {
        try await withNode { node in
            let stranger = try await node.stranger()
            try await stranger.sync()
            let alice = try await node.signedIn(.alice)
            try await alice.sync()
            let bob = try await node.signedIn(.bob)

            try await bob.send("not for strangers", to: Room.aliceBob)
            try await bob.send("not for strangers", to: Room.alps)
            try await bob.call("messages.mark_read", ["conversation_id": .string(Room.alps), "seq": 1_000])
            try await bob.call("me.update", ["bio": "not for strangers"])
            _ = try await bob.conversation(with: Person.frank.id)
            try await node.database.psql(
                """
                update public.conversations set title = 'not for strangers' where id = '\(Room.alps)';
                delete from public.conversation_members where conversation_id = '\(Room.alps)' and user_id = '\(Person.dave.id)';
                insert into public.conversation_members (conversation_id, user_id) values ('\(Room.alps)', '\(Person.frank.id)');
                update public.messages set content = 'not for strangers' where conversation_id = '\(Room.aliceBob)' and seq = 1;
                """)
            try await alice.follow { $0.messages[Room.aliceBob]?[1]?["content"] == "not for strangers" }

            #expect(try await stranger.pushesUpTo("end", on: node.database) == [])
            let world = await stranger.state
            #expect(
                world.profiles.isEmpty && world.conversations.isEmpty && world.messages.isEmpty && world.marks.isEmpty)
        }
    }

    @Test("members of one shared conversation receive only its changes")
    func sharesOne() async throws {
        try await withNode { node in
            // Frank shares the book club with Alice and Erin.
            let frank = try await node.signedIn(.frank)
            try await frank.sync()
            let alice = try await node.signedIn(.alice)
            try await alice.send("for bob", to: Room.aliceBob)
            try await alice.send("for erin", to: Room.aliceErin)
            try await alice.send("for the club", to: Room.bookClub)
            try await node.signedIn(.bob).call("me.update", ["bio": "for my contacts"])
            _ = try await frank.pushesUpTo("end", on: node.database)
            let world = await frank.state
            #expect(Set(world.messages.keys) == [Room.bookClub])
            #expect(world.has("for the club", in: Room.bookClub))
            #expect(Set(world.profiles.keys) == [Person.alice.id, Person.erin.id])
            #expect(Set(world.conversations.keys) == [Room.bookClub])
        }
    }

    @Test("random writes reach only the users who may see them", .covers("A14"))
    func random() async throws {
        try await withNode { node in
            var generator = SeededGenerator(state: UInt64.random(in: 0 ... .max))
            let seed = generator.state
            let people = Person.allCases
            let clients = try await people.asyncMap { person in
                let client = try await node.signedIn(person)
                try await client.sync()
                return client
            }
            var rooms: [String: Set<Person>] = [
                Room.aliceBob: [.alice, .bob], Room.aliceCarol: [.alice, .carol], Room.bobDave: [.bob, .dave],
                Room.carolErin: [.carol, .erin], Room.aliceErin: [.alice, .erin],
                Room.alps: [.alice, .bob, .carol, .dave],
                Room.bookClub: [.erin, .alice, .frank],
            ]
            // The members of a room when a text was written. The text names the room.
            var readers: [String: Set<Person>] = [:]
            var groupMembers = rooms[Room.alps] ?? []
            for step in 0..<120 {
                let who = generator.next(below: people.count)
                switch generator.next(below: 10) {
                case 0..<6:
                    let mine = rooms.filter { $0.value.contains(people[who]) }.keys.sorted()
                    let room = mine[generator.next(below: mine.count)]
                    let text = "text \(step) in \(room)"
                    readers[text] = rooms[room]
                    try await clients[who].send(text, to: room)
                case 6:
                    try await clients[who].call("me.update", ["bio": "bio \(step)"])
                case 7:
                    let other = people[(who + 1 + generator.next(below: people.count - 1)) % people.count]
                    let room = try await clients[who].conversation(with: other.id)
                    rooms[room] = [people[who], other]
                default:
                    guard people[who] != .alice else { continue }
                    let id = people[who].id
                    if groupMembers.remove(people[who]) != nil {
                        try await node.database.psql(
                            "delete from public.conversation_members where conversation_id = '\(Room.alps)' and user_id = '\(id)'"
                        )
                        // A returning member sees earlier texts, so the readers are those of the end.
                    } else {
                        try await node.database.psql(
                            "insert into public.conversation_members (conversation_id, user_id) values ('\(Room.alps)', '\(id)')"
                        )
                        groupMembers.insert(people[who])
                        for (text, who) in readers where text.hasSuffix(Room.alps) {
                            readers[text] = who.union(groupMembers)
                        }
                    }
                    rooms[Room.alps] = groupMembers
                }
            }
            for (person, client) in zip(people, clients) {
                _ = try await client.pushesUpTo("end", on: node.database)
                let world = await client.state
                for room in world.conversations.keys {
                    #expect(rooms[room]?.contains(person) == true, "seed \(seed): \(person), \(room)")
                }
                for room in world.messages.keys {
                    #expect(rooms[room]?.contains(person) == true, "seed \(seed): \(person), \(room)")
                }
                for changes in await client.received {
                    for message in changes["messages"]?.arrayValue ?? [] {
                        guard let text = message["content"]?.stringValue, let allowed = readers[text] else { continue }
                        #expect(allowed.contains(person), "seed \(seed): \(person) got \(text)")
                    }
                }
                try await SyncOpenTests.expectEqual(client, node.database, newest: 20)
            }
        }
    }
}

/// A generator that repeats its numbers for the same seed.
struct SeededGenerator {
    var state: UInt64

    mutating func next(below bound: Int) -> Int {
        // SplitMix64.
        state &+= 0x9E37_79B9_7F4A_7C15
        var z = state
        z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
        z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
        return Int((z ^ (z >> 31)) % UInt64(bound))
    }
}
