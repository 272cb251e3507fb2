@testable import ChangeFeed
@testable import Foundations
import NIOCore
import Testing

@testable import Messaging

@Suite("Fan-out sharing")
struct FanoutSharingTests {
    @Test("composes the same for a group as for each receiver", arguments: 1...40)
    func alone(seed: Int) throws {
        var random = Seeded(state: UInt64(seed))
        let users = (0..<8).map { _ in ID.random() }
        let rooms = (0..<5).map { _ in ID.random() }
        var together = Fanout()
        var alone: [(id: Fanout.SubscriptionID, fanout: Fanout, own: Fanout.SubscriptionID)] = []
        for _ in 0..<24 {
            let user = users[Int.random(in: 0..<users.count, using: &random)]
            let limit = Int.random(in: 1...3, using: &random)
            let mine = rooms.filter { _ in Bool.random(using: &random) }
            let page = Feed.Start(
                epoch: "e",
                snapshot: try #require(
                    Snapshot(["11:11:", "24:24:", "18:31:18,25"].randomElement(using: &random) ?? "")),
                conversations: mine, seesPresence: Bool.random(using: &random))
            var fanout = Fanout()
            let own = fanout.subscribe(user: user, messagesPerConversation: limit)
            let id = together.subscribe(user: user, messagesPerConversation: limit)
            #expect(fanout.activate(own, from: page)?.isEmpty == together.activate(id, from: page)?.isEmpty)
            alone.append((id, fanout, own))
        }
        for number in 12..<40 {
            let now = try #require(Snapshot("\(number):\(number):"))
            let changes = Self.changes(by: UInt64(number - 1), users, rooms, &random)
            let batch = ChangeBatch(position: Feed.Position(epoch: "e", snapshot: now), changes: changes)
            var given: [Fanout.SubscriptionID: [String]] = [:]
            for delivery in together.distribute(batch) {
                for id in delivery.subscribers { given[id, default: []].append(String(buffer: delivery.push.line)) }
            }
            for index in alone.indices {
                let expected = alone[index].fanout.distribute(batch).map { delivery in
                    #expect(delivery.subscribers == [alone[index].own], "seed \(seed)")
                    return String(buffer: delivery.push.line)
                }
                #expect(given[alone[index].id] ?? [] == expected, "seed \(seed), batch \(number)")
            }
        }
    }

    /// Returns random changes of any kind, memberships first.
    private static func changes(
        by transaction: UInt64, _ users: [ID], _ rooms: [ID], _ random: inout Seeded
    ) -> [Change] {
        var facts: [Change.Fact] = []
        for _ in 0..<Int.random(in: 0...12, using: &random) {
            guard let user = users.randomElement(using: &random), let room = rooms.randomElement(using: &random) else {
                continue
            }
            let seq = Int64.random(in: 1...9, using: &random)
            let object = ByteBuffer(string: "{\(facts.count)}")
            let audience = rooms.filter { _ in Bool.random(using: &random) } + [room, room]
            switch Int.random(in: 0..<16, using: &random) {
            case 0: facts.append(.left(conversation: room, user: user))
            case 1: facts.append(.joined(conversation: room, user: user))
            case 2: facts.append(.me(user: user, object: object))
            case 3: facts.append(.profile(user: user, audience: audience, object: object))
            case 4:
                let marks = Dictionary(users.map { ($0, seq) }) { first, _ in first }
                let parts = ConversationObject(
                    head: object, tail: object, lastSeq: seq, marks: marks, mutedUntil: [user: 1])
                facts.append(.conversation(room, parts))
            case 5: facts.append(.ownConversation(room, user: user, object: object))
            case 6, 7: facts.append(.message(conversation: room, seq: seq, object: object))
            case 8: facts.append(.read(conversation: room, user: user, seq: seq))
            case 9: facts.append(.openingProfile(conversation: room, user: user, object: object))
            case 10: facts.append(.presence(user: user, audience: audience, object: object))
            case 11: facts.append(.openingPresence(conversation: room, user: user, object: object))
            case 12: facts.append(.reactions(conversation: room, seq: seq, object: object))
            case 13: facts.append(.ownReactions(conversation: room, user: user, seq: seq, object: object))
            case 14: facts.append(.openingReactions(conversation: room, seq: seq, object: object))
            default: facts.append(.openingMessage(conversation: room, seq: seq, object: object))
            }
        }
        let sorted = facts.filter(\.isMembership) + facts.filter { !$0.isMembership }
        return sorted.map { Change(transaction: $0.isOpening ? .max : transaction, fact: $0) }
    }
}

extension Change.Fact {
    fileprivate var isMembership: Bool {
        switch self {
        case .left, .joined: true
        default: false
        }
    }

    fileprivate var isOpening: Bool {
        switch self {
        case .openingProfile, .openingPresence, .openingMessage, .openingReactions: true
        default: false
        }
    }
}

extension ConversationObject {
    /// Creates a conversation whose members have nothing of their own but read marks and mutes.
    init(head: ByteBuffer, tail: ByteBuffer, lastSeq: Int64, marks: [ID: Int64], mutedUntil: [ID: Int64]) {
        let members = marks.map { member, mark in
            (member, Own(lastReadSeq: mark, mutedUntil: mutedUntil[member] ?? 0, unreadMentions: 0, flags: 0))
        }
        self.init(head: head, tail: tail, lastSeq: lastSeq, members: Dictionary(uniqueKeysWithValues: members))
    }
}
