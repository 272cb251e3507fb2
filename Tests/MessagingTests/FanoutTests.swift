@testable import ChangeFeed
@testable import Foundations
import NIOCore
import Testing
@testable import WireProtocol

@testable import Messaging

@Suite("Fan-out")
struct FanoutTests {
    private let alice = ID.random()
    private let bob = ID.random()
    private let room = ID.random()
    private let other = ID.random()

    @Test("delivers a message to the conversation's members only")
    func members() throws {
        var fanout = Fanout()
        let first = try live(alice, in: [room], &fanout)
        let second = try live(bob, in: [room, other], &fanout)
        _ = try live(ID.random(), in: [other], &fanout)
        let deliveries = fanout.distribute(try batch("12:12:", [message(room, 1, by: 11)]))
        #expect(deliveries.count == 1)
        #expect(Set(deliveries.flatMap(\.subscribers)) == [first, second])
    }

    @Test("delivers changes between page and activation once")
    func activation() throws {
        var fanout = Fanout()
        let id = fanout.subscribe(user: alice, messagesPerConversation: 20)
        // The page is read while the feed polls: it contains transaction 11, and 12 was still in flight.
        _ = fanout.distribute(try batch("12:12:", [message(room, 1, by: 11)]))
        _ = fanout.distribute(try batch("14:14:", [message(room, 2, by: 12), message(room, 3, by: 13)]))
        let snapshot = try #require(Snapshot("12:14:12"))
        let missed = fanout.activate(id, from: start(snapshot, [room]))
        #expect(missed?.map(\.seqs) == [[2]])
        #expect(fanout.distribute(try batch("15:15:", [message(room, 4, by: 14)])).map(\.seqs) == [[4]])
    }

    @Test("delivers nothing that a page already contains")
    func ahead() throws {
        var fanout = Fanout()
        let id = fanout.subscribe(user: alice, messagesPerConversation: 20)
        let snapshot = try #require(Snapshot("20:20:"))
        #expect(fanout.activate(id, from: start(snapshot, [room]))?.isEmpty == true)
        #expect(fanout.distribute(try batch("15:15:", [message(room, 1, by: 14)])).isEmpty)
        #expect(fanout.upToDate.isEmpty)
        let later = fanout.distribute(try batch("21:21:", [message(room, 1, by: 14), message(room, 2, by: 20)]))
        #expect(later.map(\.seqs) == [[2]])
        #expect(Array(fanout.upToDate) == [id])
    }

    @Test("keeps the cursor of a client that has seen more than the batch")
    func cursor() throws {
        var fanout = Fanout()
        let id = fanout.subscribe(user: alice, messagesPerConversation: 20)
        let other = try live(bob, in: [room], &fanout)
        // A standby has shown transaction 13 before the primary does.
        _ = fanout.activate(id, from: start(try #require(Snapshot("12:14:12")), [room]))
        let pushes = fanout.distribute(
            try batch("13:15:13", [message(room, 2, by: 12), message(room, 3, by: 14)]))
        let cursors = Dictionary(uniqueKeysWithValues: pushes.map { ($0.subscribers, $0.params["cursor"]) })
        #expect(
            cursors == [
                [id]: .string(try position("15:15:").cursor), [other]: .string(try position("13:15:13").cursor),
            ])
        #expect(Set(pushes.map(\.seqs)) == [[2, 3]])
        let later = fanout.distribute(try batch("15:15:", [message(room, 1, by: 13)]))
        #expect(later.map(\.subscribers) == [[other]])
    }

    @Test("drops users with more changes than the batch contains")
    func affected() throws {
        var fanout = Fanout()
        let first = try live(alice, in: [room], &fanout)
        let second = try live(bob, in: [room], &fanout)
        let many = ChangeBatch(position: try position("13:13:"), changes: [], affectedUsers: .users([alice]))
        #expect(fanout.dropAffected(by: many) == [first])
        #expect(fanout.distribute(many).isEmpty)
        let deliveries = fanout.distribute(try batch("14:14:", [message(room, 1, by: 13)]))
        #expect(deliveries.map(\.subscribers) == [[second]])
    }

    @Test("drops opening syncs with changes beyond the batch")
    func affectedMeanwhile() throws {
        var fanout = Fanout()
        let many = ChangeBatch(position: try position("13:13:"), changes: [], affectedUsers: .users([alice]))
        for (user, page, isBehind) in [(alice, "12:12:", true), (alice, "13:13:", false), (bob, "12:12:", false)] {
            let id = fanout.subscribe(user: user, messagesPerConversation: 20)
            #expect(fanout.dropAffected(by: many).isEmpty)
            _ = fanout.distribute(many)
            let snapshot = try #require(Snapshot(page))
            #expect((fanout.activate(id, from: start(snapshot, [room])) == nil) == isBehind)
            fanout.unsubscribe(id)
        }
    }

    @Test("bounds the changes kept for opening syncs")
    func kept() throws {
        var fanout = Fanout(maxKeptBytes: 500)
        let patient = fanout.subscribe(user: alice, messagesPerConversation: 20)
        for number in 0..<100 {
            _ = fanout.distribute(try batch("\(12 + number):\(12 + number):", [message(room, Int64(number), by: 11)]))
        }
        let late = fanout.subscribe(user: bob, messagesPerConversation: 20)
        _ = fanout.distribute(try batch("200:200:", [message(room, 100, by: 150)]))
        let snapshot = try #require(Snapshot("12:12:"))
        #expect(fanout.activate(patient, from: start(snapshot, [room])) == nil)
        let seen = try #require(Snapshot("112:112:"))
        #expect(fanout.activate(late, from: start(seen, [room]))?.map(\.seqs) == [[100]])
    }

    @Test("delivers one left to a removed member, then nothing")
    func left() throws {
        var fanout = Fanout()
        let id = try live(alice, in: [room], &fanout)
        let deliveries = fanout.distribute(
            try batch("13:13:", [change(.left(conversation: room, user: alice), by: 12), message(room, 9, by: 12)]))
        #expect(deliveries.map(\.subscribers) == [[id]])
        #expect(deliveries.first?.params["left"] == .array([.string(room.description)]))
        #expect(deliveries.first?.params["messages"] == nil)
        #expect(fanout.distribute(try batch("14:14:", [message(room, 10, by: 13)])).isEmpty)
    }

    @Test("delivers the conversation to a new member, and its profile")
    func joined() throws {
        var fanout = Fanout()
        let member = try live(alice, in: [room], &fanout)
        let newcomer = try live(bob, in: [], limit: 1, &fanout)
        let conversation = ConversationObject(
            head: ByteBuffer(string: #"{"id":"\#(room)","last_read_seq":"#), tail: ByteBuffer(string: "}"), lastSeq: 2,
            members: [
                alice: .init(lastReadSeq: 1, mutedUntil: 0, unreadMentions: 0, flags: 2),
                bob: .init(
                    lastReadSeq: 2, mutedUntil: 1_893_456_000_000_000, unreadMentions: 3,
                    flags: 5 + 3 * 256 + 2 * 1_048_576),
            ])
        let deliveries = fanout.distribute(
            try batch(
                "13:13:",
                [
                    change(.joined(conversation: room, user: bob), by: 12),
                    change(.conversation(room, conversation), by: 12),
                    change(.openingProfile(conversation: room, user: alice, object: profile(alice)), by: 12),
                    change(.openingProfile(conversation: room, user: bob, object: profile(bob)), by: 12),
                    change(.openingMessage(conversation: room, seq: 1, object: object(1)), by: 12),
                    change(.openingMessage(conversation: room, seq: 2, object: object(2)), by: 12),
                ]))
        let toMember = try #require(deliveries.first { $0.subscribers == [member] })
        let toNewcomer = try #require(deliveries.first { $0.subscribers == [newcomer] })
        #expect(toMember.params["profiles"] == .array([.object(["id": .string(bob.description)])]))
        #expect(toMember.params["messages"] == nil)
        #expect(toNewcomer.params["profiles"] == .array([.object(["id": .string(alice.description)])]))
        #expect(toNewcomer.seqs == [2])
        #expect(toNewcomer.params["limited"] == .array([.string(room.description)]))
        #expect(
            toNewcomer.params["conversations"]
                == .array([
                    .object([
                        "id": .string(room.description), "last_read_seq": .integer(2), "unread_count": .integer(0),
                        "unread_mentions": .integer(3), "is_marked_unread": .bool(true),
                        "muted_until": .string("2030-01-01T00:00:00.000000Z"), "is_archived": .bool(false),
                        "is_pinned": .bool(true), "scheduled_count": .integer(3), "unsent_count": .integer(2),
                    ])
                ]))
        #expect(
            toMember.params["conversations"]
                == .array([
                    .object([
                        "id": .string(room.description), "last_read_seq": .integer(1), "unread_count": .integer(1),
                        "unread_mentions": .integer(0), "is_marked_unread": .bool(false), "muted_until": .null,
                        "is_archived": .bool(true), "is_pinned": .bool(false), "scheduled_count": .integer(0),
                        "unsent_count": .integer(0),
                    ])
                ]))
    }

    @Test("row 65a: delivers delivered marks to the other members only")
    func delivered() throws {
        var fanout = Fanout()
        _ = try live(alice, in: [room], &fanout)
        let second = try live(bob, in: [room], &fanout)
        _ = try live(ID.random(), in: [other], &fanout)
        let deliveries = fanout.distribute(
            try batch("13:13:", [change(.delivered(conversation: room, user: alice, seq: 7), by: 12)]))
        #expect(deliveries.map(\.subscribers) == [[second]])
        #expect(
            deliveries.first?.params["delivered"]
                == .array([
                    .object([
                        "conversation_id": .string(room.description), "user_id": .string(alice.description),
                        "last_delivered_seq": .integer(7),
                    ])
                ]))
    }

    @Test("delivers a user's own reactions to its sessions, those without to others, and none to strangers")
    func reactions() throws {
        var fanout = Fanout()
        let alices = try (1...2).map { _ in try live(alice, in: [room], &fanout) }
        let member = try live(bob, in: [room], &fanout)
        _ = try live(.random(), in: [other], &fanout)
        let deliveries = fanout.distribute(
            try batch(
                "13:13:",
                [
                    change(.ownReactions(conversation: room, user: alice, seq: 1, object: object(10)), by: 12),
                    change(.reactions(conversation: room, seq: 1, object: object(1)), by: 12),
                    change(.reactions(conversation: room, seq: 2, object: object(2)), by: 12),
                ]))
        let pushed = Dictionary(uniqueKeysWithValues: deliveries.map { (Set($0.subscribers), $0.params["reactions"]) })
        func list(_ seqs: Int...) -> JSON { .array(seqs.map { .object(["seq": .integer($0)]) }) }
        #expect(pushed == [Set(alices): list(10, 2), [member]: list(1, 2)])
    }

    @Test("delivers a profile once to each contact, not to its owner")
    func profiles() throws {
        var fanout = Fanout()
        _ = try live(alice, in: [room, other], &fanout)
        let contact = try live(bob, in: [room, other], &fanout)
        let changed = change(.profile(user: alice, audience: [room, other], object: profile(alice)), by: 12)
        let deliveries = fanout.distribute(try batch("13:13:", [changed]))
        #expect(deliveries.map(\.subscribers) == [[contact]])
        #expect(deliveries.first?.params["profiles"] == .array([.object(["id": .string(alice.description)])]))
    }

    @Test("delivers presence once to each contact that may see it")
    func presence() throws {
        var fanout = Fanout()
        _ = try live(alice, in: [room, other], &fanout)
        let contact = try live(bob, in: [room, other], &fanout)
        _ = try live(ID.random(), in: [room], seesPresence: false, &fanout)
        let deliveries = fanout.distribute(
            try batch(
                "13:13:",
                [
                    change(.presence(user: alice, audience: [room, other], object: profile(alice)), by: 12),
                    change(.openingPresence(conversation: room, user: alice, object: profile(alice)), by: .max),
                ]))
        #expect(deliveries.map(\.subscribers) == [[contact]])
        #expect(deliveries.first?.params["presence"] == .array([.object(["id": .string(alice.description)])]))
        #expect(deliveries.first?.params["profiles"] == nil)
    }

    @Test("delivers presence between new and old members")
    func openingPresence() throws {
        var fanout = Fanout()
        let member = try live(alice, in: [room], &fanout)
        let newcomer = try live(bob, in: [], &fanout)
        let deliveries = fanout.distribute(
            try batch(
                "13:13:",
                [
                    change(.joined(conversation: room, user: bob), by: 12),
                    change(.openingPresence(conversation: room, user: alice, object: profile(alice)), by: .max),
                    change(.openingPresence(conversation: room, user: bob, object: profile(bob)), by: .max),
                ]))
        for (receiver, shown) in [(member, bob), (newcomer, alice)] {
            let delivery = try #require(deliveries.first { $0.subscribers == [receiver] })
            #expect(delivery.params["presence"] == .array([.object(["id": .string(shown.description)])]))
        }
    }

    @Test("drops receivers beyond the bound of a connection's queue")
    func overflow() throws {
        var fanout = Fanout(maxPushBytes: 100)
        let first = try live(alice, in: [room, other], &fanout)
        let second = try live(bob, in: [other], &fanout)
        let long = Change.Fact.message(conversation: room, seq: 1, object: ByteBuffer(repeating: 0x31, count: 101))
        let deliveries = fanout.distribute(
            try batch("14:14:", [change(long, by: 12), message(other, 2, by: 13)]))
        #expect(deliveries.map(\.subscribers) == [[second]])
        #expect(fanout.takeOverflowed() == [first] && fanout.takeOverflowed().isEmpty)
        #expect(fanout.distribute(try batch("15:15:", [message(other, 3, by: 14)])).map(\.subscribers) == [[second]])
    }

    @Test("counts only the messages that an opening delivers")
    func openings() throws {
        var fanout = Fanout(maxPushBytes: 100)
        let short = try live(alice, in: [], limit: 1, &fanout)
        let long = try live(bob, in: [], &fanout)
        let opening = (1...3).map { seq in
            change(
                .openingMessage(conversation: room, seq: seq, object: ByteBuffer(repeating: 0x31, count: 60)), by: .max)
        }
        let joined = [alice, bob].map { change(.joined(conversation: room, user: $0), by: 12) }
        let conversation = ConversationObject(
            head: ByteBuffer(string: "{"), tail: ByteBuffer(string: "}"), lastSeq: 3, marks: [alice: 3, bob: 3],
            mutedUntil: [:])
        let deliveries = fanout.distribute(
            try batch("13:13:", joined + [change(.conversation(room, conversation), by: 12)] + opening))
        #expect(deliveries.map(\.subscribers) == [[short]])
        #expect(fanout.takeOverflowed() == [long])
    }

    @Test("counts conversations, and composes them once for the connections of a user")
    func conversations() throws {
        var fanout = Fanout(maxPushBytes: 250)
        let alices = try (1...3).map { _ in try live(alice, in: [room, other], &fanout) }
        let bobs = try live(bob, in: [room], &fanout)
        func changed(_ id: ID, by transaction: UInt64) -> Change {
            let object = ConversationObject(
                head: ByteBuffer(repeating: 0x31, count: 90), tail: ByteBuffer(repeating: 0x31, count: 40), lastSeq: 3,
                marks: [alice: 3, bob: 1], mutedUntil: [:])
            return change(.conversation(id, object), by: transaction)
        }
        let one = fanout.distribute(try batch("13:13:", [changed(room, by: 12)]))
        #expect(Set(one.map { Set($0.subscribers) }) == [Set(alices), [bobs]])
        let both = fanout.distribute(try batch("15:15:", [changed(room, by: 13), changed(other, by: 14)]))
        #expect(both.map(\.subscribers) == [[bobs]])
        #expect(Set(fanout.takeOverflowed()) == Set(alices))
    }

    @Test("counts only composed pushes toward a receiver's bound")
    func composedAlone() throws {
        var fanout = Fanout()
        let short = try live(bob, in: [other], &fanout)
        let users = (1...3).map { _ in ID.random() }
        let long = try users.map { try live($0, in: [], &fanout) }
        let opening = change(
            .openingMessage(conversation: room, seq: 1, object: ByteBuffer(repeating: 0x31, count: 33 << 20)), by: .max)
        let joined = users.map { change(.joined(conversation: room, user: $0), by: 12) }
        let left = change(.left(conversation: other, user: bob), by: 12)
        let deliveries = fanout.distribute(try batch("13:13:", joined + [left, opening]))
        #expect(deliveries.map(\.subscribers) == [[short]])
        #expect(Set(fanout.takeOverflowed()) == Set(long))
    }

    @Test("delivers nothing after unsubscribing")
    func unsubscribed() throws {
        var fanout = Fanout()
        let id = try live(alice, in: [room], &fanout)
        fanout.unsubscribe(id)
        #expect(fanout.distribute(try batch("13:13:", [message(room, 1, by: 12)])).isEmpty)
        #expect(fanout.count == 0)
    }

    /// Returns a live subscriber that has all changes up to transaction 11.
    private func live(
        _ user: ID, in rooms: [ID], limit: Int = 20, seesPresence: Bool = true, _ fanout: inout Fanout
    ) throws -> Int {
        let id = fanout.subscribe(user: user, messagesPerConversation: limit)
        _ = fanout.activate(id, from: start(try #require(Snapshot("11:11:")), rooms, seesPresence: seesPresence))
        return id
    }

    private func start(_ snapshot: Snapshot, _ rooms: [ID], seesPresence: Bool = true) -> Feed.Start {
        .init(epoch: "e", snapshot: snapshot, conversations: rooms, seesPresence: seesPresence)
    }

    private func batch(_ snapshot: String, _ changes: [Change]) throws -> ChangeBatch {
        ChangeBatch(position: try position(snapshot), changes: changes)
    }

    private func position(_ snapshot: String) throws -> Feed.Position {
        Feed.Position(epoch: "e", snapshot: try #require(Snapshot(snapshot)))
    }

    private func message(_ conversation: ID, _ seq: Int64, by transaction: UInt64) -> Change {
        change(.message(conversation: conversation, seq: seq, object: object(seq)), by: transaction)
    }

    private func change(_ fact: Change.Fact, by transaction: UInt64) -> Change {
        Change(transaction: transaction, fact: fact)
    }

    private func object(_ seq: Int64) -> ByteBuffer { ByteBuffer(string: #"{"seq":\#(seq)}"#) }
    private func profile(_ user: ID) -> ByteBuffer { ByteBuffer(string: #"{"id":"\#(user)"}"#) }
}

extension Fanout.AddressedPush {
    /// The params of the pushed line.
    fileprivate var params: JSONObject {
        guard case .object(let line)? = try? JSON(parsing: push.line), case .object(let params)? = line["params"] else {
            return [:]
        }
        return params
    }

    /// The numbers of the messages in the push.
    fileprivate var seqs: [Int64] {
        guard case .array(let messages)? = params["messages"] else { return [] }
        return messages.compactMap { message in
            guard case .object(let object) = message, case .number(let seq)? = object["seq"] else { return nil }
            return seq.integer
        }
    }
}
