import DatabaseAccess
import LineClient
import Synchronization
import TestSupport
import Testing
import WireProtocol

/// Tests of guests with more messages than the sign-in's transaction moves.
@Suite("Merge of many messages", .timeLimit(.minutes(20)))
struct MergeSizeTests {
    /// The default limits of a node.
    private static let served = NodeSettings(
        poolSize: 8, poolWait: .seconds(3), limits: StatementLimits(statement: .seconds(10), lock: .seconds(5)))

    private final class Progress: Sendable {
        let isOver = Atomic(false)
        let edits = Atomic(0)
    }

    // A5
    @Test("moves 120,000 messages during edits, visible by cursor")
    func many() async throws {
        let count = 120_000
        try await withNode(Self.served) { node in
            let database = node.database
            let guest = try await node.connect()
            let tokens = try await guest.becomeGuest("Gwen")
            let id = await guest.userID
            let group = try await database.makeGroup("Large", [Person.bob.id, id])
            // Every hundredth message is Bob's.
            try await database.write(count, by: id, in: group, each: 100, by: Person.bob.id)
            let guests = count - count / 100
            let reader = try await node.signedIn(.bob)
            try await reader.sync(live: false)
            let cursor = await reader.cursor

            let progress = Progress()
            let alice = try await node.signedIn(.alice)
            try await withThrowingTaskGroup(of: Void.self) { editors in
                for place in 1...8 {
                    let editor = try await node.signedIn(.bob)
                    editors.addTask {
                        while !progress.isOver.load(ordering: .relaxed) {
                            let edit = progress.edits.add(1, ordering: .relaxed).newValue
                            try await editor.call(
                                "messages.edit",
                                [
                                    "conversation_id": .string(group), "seq": .integer(place * 10_000),
                                    "content": .string("edit \(edit)"),
                                ])
                        }
                    }
                }
                defer { progress.isOver.store(true, ordering: .relaxed) }
                while progress.edits.load(ordering: .relaxed) < 20 { try await alice.call("me.get") }
                let merged = try await node.connect().logIn(Person.alice.email, guest: tokens)["merged"]
                #expect(merged == ["conversations": 1, "messages": .integer(guests)])
                #expect(try await database.value("select count(*) from app.message_moves") == "1")

                // The sender of messages that are not moved yet is a deleted user. The account may still edit them.
                let list = try await reader.call(
                    "messages.list", ["conversation_id": .string(group), "after_seq": 0, "limit": 1])
                let sender = list["messages"]?[0]?["sender"]
                #expect(sender?["id"]?.stringValue == id && sender?["full_name"] == .null)
                let edited = try await alice.call(
                    "messages.edit", ["conversation_id": .string(group), "seq": 1, "content": "hers"])
                #expect(edited["sender_id"]?.stringValue == Person.alice.id)
                for left in stride(from: count - 10_000, through: 0, by: -10_000) {
                    try await database.wait(
                        for: "select coalesce(max(below), 0) <= \(left) from app.message_moves", toBe: "t")
                    // The others edit during the sign-in and twenty batches. The rest moves faster without them.
                    progress.isOver.store(true, ordering: .relaxed)
                }
                try await editors.waitForAll()
            }
            #expect(progress.edits.load(ordering: .relaxed) > 100)

            try await reader.sync(from: cursor, live: false)
            let held = await reader.state.messages[group] ?? [:]
            #expect(held.values.count { $0["sender_id"]?.stringValue == Person.alice.id } == guests)
            try await expectEqual(held, database, group)
            try await database.expectMoved(from: id, to: Person.alice.id, guests, in: group)
        }
    }

    @Test("pushes each moved message once, also after a node stops")
    func live() async throws {
        let count = 700
        // The outbound queue is large enough for all pushes.
        let settings = NodeSettings(maxQueueBytes: 1 << 26)
        try await withNode(settings) { other in
            let database = other.database
            let bob = try await other.signedIn(.bob)
            let frank = try await other.signedIn(.frank)
            let alice = try await other.signedIn(.alice)
            let ids = try await withNode(database, settings) { one in
                let guest = try await one.connect()
                let tokens = try await guest.becomeGuest("Gwen")
                let id = await guest.userID
                let ids = (
                    guest: id, withBob: try await guest.conversation(with: Person.bob.id),
                    group: try await database.makeGroup("Large", [id, Person.frank.id])
                )
                for room in [ids.withBob, ids.group] {
                    try await database.write(
                        count, by: ids.guest, in: room, each: 50,
                        by: room == ids.group ? Person.frank.id : Person.bob.id)
                }
                for client in [bob, frank, alice] { try await client.sync() }
                let merged = try await one.connect().logIn(Person.alice.email, guest: tokens)["merged"]
                #expect(merged == ["conversations": 2, "messages": .integer(2 * (count - count / 50))])
                // When a node stops, the other moves the rest.
                return ids
            }
            try await bob.send("meanwhile", to: Room.aliceBob)
            for room in [ids.withBob, ids.group] {
                try await database.wait(
                    for: "select count(*) from app.message_moves where conversation_id = '\(room)'", toBe: "0")
            }
            for client in [bob, frank, alice] { _ = try await client.pushesUpTo("end", on: database) }
            let ofBob = await bob.state.messages[Room.aliceBob] ?? [:]
            let ofAlice = await alice.state.messages[Room.aliceBob] ?? [:]
            #expect(ofBob == ofAlice)
            let contents = ofBob.sorted { $0.key < $1.key }.compactMap { $0.value["content"]?.stringValue }
            #expect(contents.suffix(count + 1) == (1...count).map { "\($0)" } + ["meanwhile"])
            try await expectEqual(ofBob, database, Room.aliceBob)
            for client in [frank, alice] {
                let held = await client.state.messages[ids.group] ?? [:]
                #expect(held.values.allSatisfy { $0["sender_id"]?.stringValue != ids.guest })
                try await expectEqual(held, database, ids.group)
                try await SyncOpenTests.expectEqual(client, database, newest: 20)
            }
            let franks = await frank.state.messages[ids.group] ?? [:]
            #expect(franks.values.count { $0["sender_id"]?.stringValue == Person.alice.id } == count - count / 50)
            try await database.expectMoved(from: ids.guest, to: Person.alice.id, count - count / 50, in: ids.group)
        }
    }

    /// Expects these messages to equal those in the database.
    private func expectEqual(_ held: [Int: JSON], _ database: TestDatabase, _ room: String) async throws {
        let rows = try await database.column(
            """
            select seq || ' ' || sender_id || ' ' || version || ' ' || content from public.messages
             where conversation_id = '\(room)'
            """)
        let surplus = Set(
            held.map { seq, message in
                let words = ["sender_id", "content"].map { message[$0]?.stringValue ?? "-" }
                return "\(seq) \(words[0]) \(message["version"]?.text ?? "") \(words[1])"
            }
        ).subtracting(rows.compactMap { $0 })
        #expect(surplus.sorted().prefix(3) == [])
    }
}

extension TestDatabase {
    /// Inserts messages without triggers, at intervals as another user.
    fileprivate func write(
        _ count: Int, by user: String, in room: String, each: Int, by another: String
    ) async throws {
        try await psql(
            """
            begin;
            set local session_replication_role = replica;
            insert into public.messages (conversation_id, seq, sender_id, client_id, content, created_at)
            select '\(room)', n, (case when n % \(each) = 0 then '\(another)' else '\(user)' end)::uuid,
                   gen_random_uuid(), n, now()
              from generate_series(1, \(count)) n;
            update public.conversations
               set last_seq = \(count), last_message_content = '\(count)', last_message_time = now(),
                   last_message_sender_id = '\(another)', last_message_xid = pg_current_xact_id()
             where id = '\(room)';
            update public.conversation_members
               set sent_seq = \(count) - case when user_id = '\(user)' then 1 else 0 end, last_read_seq = \(count)
             where conversation_id = '\(room)' and user_id in ('\(user)', '\(another)');
            commit;
            """)
    }

    /// Expects that nothing of the guest is left and every message exists once.
    fileprivate func expectMoved(from guest: String, to account: String, _ count: Int, in room: String) async throws {
        #expect(try await value("select count(*) from public.messages where sender_id = '\(guest)'") == "0")
        #expect(
            try await value(
                """
                select count(*) filter (where m.sender_id = '\(account)') || ' ' || (count(*) = c.last_seq)
                  from public.messages m join public.conversations c on c.id = m.conversation_id
                 where c.id = '\(room)' group by c.last_seq
                """) == "\(count) true")
        #expect(try await value("select count(*) from app.message_moves") == "0")
    }
}
