import LineClient
import Messaging
import Metering
import Postgres
import TestSupport
import Testing

@Suite("Texts that are sent together", .timeLimit(.minutes(60)))
struct SendGroupsTests {
    /// How many send at once, and how much each.
    private static let crowd = 24
    private static let texts = 12

    /// Guests, each with its conversation with Bob.
    private static func guests(_ count: Int, of node: TestNode) async throws -> [(TestClient, String)] {
        var guests: [(TestClient, String)] = []
        for _ in 0..<count {
            let guest = try await node.guest()
            guests.append((guest, try await guest.conversation(with: Person.bob.id)))
        }
        return guests
    }

    /// How many groups the node has sent, and how many of more than one.
    private static func groups(of node: TestNode) throws -> (all: Int, ofMany: Int) {
        func count(_ series: String) throws -> Int {
            let line = node.metrics.text.split(separator: "\n").first { $0.hasPrefix(series) }
            return try #require(line?.split(separator: " ").last.flatMap { Int($0) })
        }
        let all = try count("postline_send_group_size_count")
        return (all, all - (try count("postline_send_group_size_bucket{le=\"1\"}")))
    }

    @Test("what many send at once is written together, once, each in its order and with its own answer")
    func together() async throws {
        try await withNode { node in
            let bob = try await node.signedIn(.bob)
            let guests = try await Self.guests(Self.crowd, of: node)
            try await bob.sync()
            try await withThrowingDiscardingTaskGroup { group in
                for (guest, room) in guests {
                    group.addTask {
                        let userID = await guest.userID
                        for number in 1...Self.texts {
                            let message = try await guest.send("\(room) {\(number),\"\\\u{1F600}\"}", to: room)
                            expectMessage(message)
                            #expect(message["seq"]?.integerValue == number)
                            #expect(message["content"] == .string("\(room) {\(number),\"\\\u{1F600}\"}"))
                            #expect(message["sender_id"]?.stringValue == userID)
                            #expect(message["is_read"] == false)
                        }
                    }
                }
            }
            for (_, room) in guests {
                try await bob.follow { $0.has("\(room) {\(Self.texts),\"\\\u{1F600}\"}", in: room) }
                #expect(await bob.replica.arrivals[room] == Array(1...Self.texts))
            }
            let groups = try Self.groups(of: node)
            #expect(groups.ofMany > 0)
            #expect(groups.all < Self.crowd * Self.texts)
        }
    }

    @Test("what is refused among them has its own error, and the others are sent all the same")
    func refused() async throws {
        try await withNode { node in
            let guests = try await Self.guests(Self.crowd, of: node)
            let known = try await guests[0].0.call(
                "messages.send",
                [
                    "conversation_id": .string(guests[0].1), "content": "once",
                    "client_id": .string("12345678-1234-4234-8234-123456789abc"),
                ])
            try await withThrowingDiscardingTaskGroup { group in
                for (index, (guest, room)) in guests.enumerated() {
                    group.addTask {
                        for number in 1...Self.texts {
                            switch index % 4 {
                            case 0 where index == 0:
                                let again = try await guest.call(
                                    "messages.send",
                                    [
                                        "conversation_id": .string(room), "content": "once",
                                        "client_id": .string("12345678-1234-4234-8234-123456789abc"),
                                    ])
                                #expect(again == known)
                            case 1:
                                try await guest.refused(
                                    .notFound, "messages.send",
                                    ["conversation_id": .string(Room.aliceBob), "content": "\(number)"])
                            default:
                                let message = try await guest.send("\(number)", to: room)
                                #expect(message["seq"]?.integerValue == number)
                            }
                        }
                    }
                }
            }
            let groups = try Self.groups(of: node)
            #expect(groups.ofMany > 0)
            #expect(
                try await node.database.value(
                    "select count(*) from public.messages where conversation_id = '\(guests[0].1)'") == "1")
            #expect(
                try await node.database.value(
                    "select last_seq from public.conversations where id = '\(Room.aliceBob)'") == "90")
        }
    }

    @Test("a conversation that another program has locked holds up none but those who send there")
    func locked() async throws {
        try await withNode(NodeSettings(poolSize: 8)) { node in
            let alice = try await node.signedIn(.alice)
            let guests = try await Self.guests(Self.crowd, of: node)
            let program = try await node.database.connect()
            _ = try await program.execute(
                "begin; select from public.conversations where id in ('\(Room.aliceBob)', '\(guests[0].1)') for update")
            async let waits = alice.send("waits", to: Room.aliceBob)
            async let alsoWaits = guests[0].0.send("waits too", to: guests[0].1)
            try await withThrowingDiscardingTaskGroup { group in
                for (guest, room) in guests.dropFirst() {
                    group.addTask { for number in 1...4 { try await guest.send("\(number)", to: room) } }
                }
            }
            #expect(
                try await node.database.value(
                    "select count(*) from public.messages where content like 'waits%'") == "0")
            _ = try await program.execute("rollback")
            await program.close()
            let (waited, alsoWaited) = try await (waits, alsoWaits)
            #expect(waited["seq"] == 91)
            #expect(alsoWaited["seq"] == 1)
        }
    }

    @Test("where PostgreSQL refuses a group whole, its texts are sent one by one")
    func fallback() async throws {
        try await withNode { node in
            let bob = try await node.signedIn(.bob)
            let guests = try await Self.guests(Self.crowd, of: node)
            try await bob.sync()
            try await node.database.psql(
                "revoke execute on function app.send_messages(uuid[], uuid[], text[], uuid[]) from postline_sender")
            try await withThrowingDiscardingTaskGroup { group in
                for (guest, room) in guests {
                    group.addTask {
                        for number in 1...4 {
                            let message = try await guest.send("\(number)", to: room)
                            #expect(message["seq"]?.integerValue == number)
                        }
                    }
                }
            }
            let groups = try Self.groups(of: node)
            #expect(groups.ofMany > 0)
            for (_, room) in guests {
                try await bob.follow { $0.has("4", in: room) }
                #expect(await bob.replica.arrivals[room] == [1, 2, 3, 4])
            }
        }
    }
}
