import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("Delivered marks", .timeLimit(.minutes(20)))
struct DeliveredTests {
    @Test("row 65a: a member's mark moves when its device acknowledges, and is told to the other members only")
    func told() async throws {
        try await withTwoNodes(.acknowledging()) { one, other in
            let alice = try await one.signedIn(.alice)
            let phone = try await other.signedIn(.bob)
            let tablet = try await one.signedIn(.bob)
            let erin = try await one.signedIn(.erin)
            for client in [alice, phone, tablet, erin] { try await client.sync() }
            let direct = try await alice.sendNumber("hello", to: Room.aliceBob)
            let group = try await alice.sendNumber("hello all", to: Room.alps)
            // What is not acknowledged is not delivered.
            try await phone.follow { $0.has("hello all", in: Room.alps) }
            try await tablet.follow { $0.has("hello all", in: Room.alps) }
            #expect(try await one.database.deliveredMarks() == [])
            try await phone.acknowledge()
            try await alice.follow("Bob's marks") {
                $0.lastDelivered(to: .bob, in: Room.aliceBob) == direct
                    && $0.lastDelivered(to: .bob, in: Room.alps) == group
            }
            let conversation = try await alice.call("conversations.get", ["conversation_id": .string(Room.aliceBob)])
            let bob = conversation["members"]?.arrayValue?.first { $0["user_id"]?.stringValue == Person.bob.id }
            #expect(bob?["last_delivered_seq"]?.integerValue == direct)
            #expect(bob?["last_read_seq"]?.integerValue ?? 0 < direct)
            // Bob's own devices, and users who are no members, are not told.
            for client in [phone, tablet, erin] {
                #expect(try await client.pushesUpTo("told", on: one.database).allSatisfy { $0["delivered"] == nil })
            }
        }
    }

    @Test("a mark follows each of a user's devices, and does not move back")
    func devices() async throws {
        try await withNode(.acknowledging()) { node in
            let alice = try await node.signedIn(.alice)
            let phone = try await node.signedIn(.bob)
            let tablet = try await node.signedIn(.bob)
            for client in [alice, phone, tablet] { try await client.sync() }
            let first = try await alice.sendNumber("one", to: Room.aliceBob)
            try await phone.follow { $0.has("one", in: Room.aliceBob) }
            try await phone.acknowledge()
            try await alice.follow { $0.lastDelivered(to: .bob, in: Room.aliceBob) == first }
            let second = try await alice.sendNumber("two", to: Room.aliceBob)
            let third = try await alice.sendNumber("three", to: Room.aliceBob)
            try await tablet.follow { $0.has("two", in: Room.aliceBob) }
            try await tablet.acknowledge()
            try await alice.follow { $0.lastDelivered(to: .bob, in: Room.aliceBob) >= second }
            try await tablet.follow { $0.has("three", in: Room.aliceBob) }
            try await tablet.acknowledge()
            try await alice.follow { $0.lastDelivered(to: .bob, in: Room.aliceBob) == third }
            // The phone has received no more than the first message by its cursor.
            try await phone.acknowledge()
            let fourth = try await alice.sendNumber("four", to: Room.aliceBob)
            try await phone.follow { $0.has("four", in: Room.aliceBob) }
            try await phone.acknowledge()
            try await alice.follow { $0.lastDelivered(to: .bob, in: Room.aliceBob) == fourth }
            let told = await alice.received.flatMap { $0["delivered"]?.arrayValue ?? [] }
                .filter { $0["conversation_id"] == .string(Room.aliceBob) }
                .compactMap { $0["last_delivered_seq"]?.integerValue }
            #expect(told == told.sorted() && Set(told).count == told.count)
        }
    }

    @Test("a client acknowledges its cursor when it opens the sync, on any node, also after a restart")
    func restart() async throws {
        try await TestDatabase.with { database in
            let (cursor, last) = try await withNode(database, .acknowledging()) { node in
                let alice = try await node.signedIn(.alice)
                let bob = try await node.signedIn(.bob)
                try await bob.sync()
                let last = try await alice.sendNumber("before the restart", to: Room.aliceBob)
                try await bob.follow { $0.has("before the restart", in: Room.aliceBob) }
                return (await bob.cursor, last)
            }
            #expect(try await database.deliveredMarks() == [])
            try await withNode(database, .acknowledging()) { node in
                let alice = try await node.signedIn(.alice)
                let bob = try await node.signedIn(.bob)
                try await alice.sync()
                try await bob.sync(from: cursor)
                try await alice.follow { $0.lastDelivered(to: .bob, in: Room.aliceBob) == last }
            }
        }
    }

    @Test("messages of a page are delivered with its cursor, also over HTTP")
    func pages() async throws {
        try await withNode(.acknowledging()) { node in
            let alice = try await node.signedIn(.alice)
            try await alice.sync()
            let last = try await alice.sendNumber("in the page", to: Room.aliceBob)
            let bob = try await node.connect()
            let tokens = try await bob.logIn(Person.bob.email)
            let token = try #require(tokens["access_token"]?.stringValue)
            try await bob.sync(live: false)
            let cursor = await bob.cursor
            let answer = try await TestHTTPResponse.call(
                "sync.ack", #"{"cursor":"\#(cursor)"}"#, token: token, port: node.httpPort)
            #expect(answer.status == 200 && answer.body.contains("{}"))
            try await alice.follow { $0.lastDelivered(to: .bob, in: Room.aliceBob) == last }
        }
    }

    @Test("row 65a: a removed member has no mark, and gets none by an old cursor")
    func removed() async throws {
        try await withNode(.acknowledging()) { node in
            let alice = try await node.signedIn(.alice)
            let dave = try await node.signedIn(.dave)
            let carol = try await node.signedIn(.carol)
            for client in [alice, dave, carol] { try await client.sync() }
            let last = try await alice.sendNumber("hello all", to: Room.alps)
            for client in [dave, carol] { try await client.follow { $0.has("hello all", in: Room.alps) } }
            let cursor = await dave.cursor
            try await alice.call(
                "conversations.remove_member",
                ["conversation_id": .string(Room.alps), "user_id": .string(Person.dave.id)])
            try await dave.acknowledge(cursor)
            try await carol.acknowledge()
            try await alice.follow { $0.lastDelivered(to: .carol, in: Room.alps) == last }
            #expect(try await node.database.deliveredMarks(in: Room.alps) == ["carol \(last)"])
        }
    }

    @Test("groups of more than 32 members have no marks")
    func large() async throws {
        try await withNode(.acknowledging()) { node in
            try await node.database.psql(
                """
                insert into auth.users (id, raw_user_meta_data)
                select ('00000000-0000-4000-9000-' || lpad(n::text, 12, '0'))::uuid, '{"full_name":"N"}'
                  from generate_series(1, 29) n;
                insert into public.conversation_members (conversation_id, user_id)
                select '\(Room.alps)', ('00000000-0000-4000-9000-' || lpad(n::text, 12, '0'))::uuid
                  from generate_series(1, 29) n
                """)
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            for client in [alice, bob] { try await client.sync() }
            for content in ["one", "two"] {
                try await alice.send(content, to: Room.alps)
                let direct = try await alice.sendNumber(content, to: Room.aliceBob)
                try await bob.follow { $0.has(content, in: Room.aliceBob) && $0.has(content, in: Room.alps) }
                try await bob.acknowledge()
                try await alice.follow { $0.lastDelivered(to: .bob, in: Room.aliceBob) == direct }
            }
            #expect(try await node.database.deliveredMarks(in: Room.alps) == [])
        }
    }

    @Test("a client that knows nothing of it is not disturbed, and a made-up cursor acknowledges nothing")
    func others() async throws {
        try await withNode(.acknowledging()) { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            for client in [alice, bob] { try await client.sync() }
            try await alice.send("hello", to: Room.aliceBob)
            for client in [alice, bob] { try await client.follow { $0.has("hello", in: Room.aliceBob) } }
            for cursor in ["", "x", "1/e/9:9:/000000000000", String(repeating: "9", count: 1_000)] {
                #expect(try await bob.call("sync.ack", ["cursor": .string(cursor)]) == [:])
            }
            try await bob.refused(.invalidParams, "sync.ack", field: "cursor")
            #expect(try await alice.pushesUpTo("end", on: node.database) == [])
            #expect(try await node.database.deliveredMarks() == [])
            let unknown = try await node.connect()
            try await unknown.refused(.unauthenticated, "sync.ack", ["cursor": .string(await bob.cursor)])
        }
    }

    @Test("acknowledgements within a second are told together")
    func paced() async throws {
        try await withNode(.acknowledging(every: .seconds(1))) { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            for client in [alice, bob] { try await client.sync() }
            var cursors: [String] = []
            for number in 1...20 {
                try await alice.send("\(number)", to: Room.aliceBob)
                try await bob.follow { $0.has("\(number)", in: Room.aliceBob) }
                cursors.append(await bob.cursor)
            }
            for cursor in cursors { try await bob.acknowledge(cursor) }
            let last = try #require(await bob.state.messages[Room.aliceBob]?.keys.max())
            try await alice.follow { $0.lastDelivered(to: .bob, in: Room.aliceBob) == last }
            let told = await alice.received.flatMap { $0["delivered"]?.arrayValue ?? [] }
            #expect(told.count < 20, "20 acknowledgements were told one by one")
        }
    }
}

extension NodeSettings {
    /// Settings of a node that reports delivered messages.
    fileprivate static func acknowledging(every interval: Duration = .milliseconds(20)) -> NodeSettings {
        var settings = NodeSettings()
        settings.deliveryInterval = interval
        return settings
    }
}

extension TestClient {
    /// Acknowledges the newest cursor, or another.
    fileprivate func acknowledge(_ other: String? = nil) async throws {
        let params: JSONObject = ["cursor": .string(other ?? cursor)]
        #expect(try await call("sync.ack", params) == [:])
    }

    /// Sends a text, and returns its number.
    fileprivate func sendNumber(_ content: String, to conversation: String) async throws -> Int {
        try #require(try await send(content, to: conversation)["seq"]?.integerValue)
    }
}

extension TestDatabase {
    /// Returns the stored marks of the dev world's users, such as `bob 3`.
    fileprivate func deliveredMarks(in conversation: String? = nil) async throws -> [String] {
        let filter = conversation.map { "where d.conversation_id = '\($0)'" } ?? ""
        return try await column(
            """
            select p.username || ' ' || d.last_delivered_seq
              from public.delivered_marks d join public.user_profiles p on p.id = d.user_id \(filter) order by 1
            """
        ).compactMap(\.self)
    }
}
