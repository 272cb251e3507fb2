import Testing

@testable internal import Chat

@Suite("The client's world, by the protocol's merge rules")
struct WorldTests {
    @Test("the same Changes twice change nothing the second time")
    func idempotent() {
        var world = Fixture.world()
        let news = Fixture.changes(
            profiles: [Fixture.person(Fixture.bob, "Robert", version: 2)], messages: [Fixture.message(3, "three")],
            reads: [(Fixture.direct, Fixture.bob, 2)])
        #expect(!world.apply(news).isEmpty)
        let once = world
        #expect(world.apply(news).isEmpty)
        #expect(world == once)
    }

    @Test("an older profile does not overwrite a newer one, wherever it comes from")
    func olderProfile() {
        var world = Fixture.world()
        _ = world.apply(Fixture.changes(profiles: [Fixture.person(Fixture.bob, "Robert", version: 5)]))
        _ = world.apply(Fixture.changes(profiles: [Fixture.person(Fixture.bob, "Bob Brown", version: 4)]))
        // A message written into the answer before the change carries the old name.
        _ = world.apply(Fixture.changes(messages: [Fixture.message(3, "three", senderVersion: 4)]))
        #expect(world.name(of: Fixture.bob) == "Robert")
    }

    @Test("a changed name is a new name in a direct conversation's title too")
    func directTitle() {
        var world = Fixture.world()
        let events = world.apply(Fixture.changes(profiles: [Fixture.person(Fixture.bob, "Robert", version: 2)]))
        #expect(events == [.renamed(userID: Fixture.bob, from: "Bob Brown", to: "Robert")])
        #expect(world.name(ofConversation: Fixture.direct) == "Robert")
    }

    @Test("a new message alone moves the conversation's last message, the unread count and the sender's mark")
    func newMessage() {
        var world = Fixture.world()
        _ = world.apply(Fixture.changes(messages: [Fixture.message(3, "three")]))
        let conversation = world.conversations[Fixture.direct]
        #expect(conversation?.lastSeq == 3)
        #expect(conversation?.lastContent == "three")
        #expect(conversation?.unreadCount == 3)
        #expect(conversation?.mark(of: Fixture.bob) == 3)
    }

    @Test("one's own message is read by oneself")
    func ownMessage() {
        var world = Fixture.world()
        _ = world.apply(Fixture.changes(messages: [Fixture.message(3, "me", from: Fixture.alice, name: "Alice Ample")]))
        #expect(world.conversations[Fixture.direct]?.unreadCount == 0)
    }

    @Test("an older conversation object keeps the newer metadata, last message and marks")
    func olderConversation() {
        var world = Fixture.world()
        _ = world.apply(
            Fixture.changes(
                conversations: [
                    Fixture.conversation(
                        Fixture.group, title: "New title", members: [(Fixture.alice, 4), (Fixture.bob, 5)], lastSeq: 5,
                        lastContent: "five", version: 3, lastReadSeq: 4, at: 5)
                ]))
        _ = world.apply(
            Fixture.changes(
                conversations: [
                    Fixture.conversation(
                        Fixture.group, title: "Old title",
                        members: [(Fixture.alice, 1), (Fixture.bob, 2), (Fixture.carol, 0)],
                        lastSeq: 2, lastContent: "two", version: 2, lastReadSeq: 1, at: 2)
                ]))
        let group = world.conversations[Fixture.group]
        #expect(group?.title == "New title")
        #expect(group?.members.map(\.userID) == [Fixture.alice, Fixture.bob])
        #expect(group?.lastContent == "five")
        #expect(group?.unreadCount == 1)
        #expect(group?.mark(of: Fixture.bob) == 5)
    }

    @Test("a newer conversation object does not take back a last message that is already known")
    func newerConversationOlderMessage() {
        var world = Fixture.world()
        _ = world.apply(Fixture.changes(messages: [Fixture.message(3, "three")]))
        _ = world.apply(
            Fixture.changes(conversations: [Fixture.conversation(lastSeq: 2, lastContent: "two", version: 2)]))
        #expect(world.conversations[Fixture.direct]?.version == 2)
        #expect(world.conversations[Fixture.direct]?.lastContent == "three")
        #expect(world.conversations[Fixture.direct]?.lastSeq == 3)
    }

    @Test("a mark never goes back")
    func marks() {
        var world = Fixture.world()
        _ = world.apply(Fixture.changes(reads: [(Fixture.direct, Fixture.alice, 2)]))
        _ = world.apply(Fixture.changes(reads: [(Fixture.direct, Fixture.alice, 1)]))
        #expect(world.conversations[Fixture.direct]?.unreadCount == 0)
    }

    @Test("an edited message replaces, an older version of it does not come back")
    func edits() {
        var world = Fixture.world()
        let edited = world.apply(Fixture.changes(messages: [Fixture.message(2, "two, better", version: 2)]))
        #expect(edited.count == 1)
        #expect(world.apply(Fixture.changes(messages: [Fixture.message(2, "two", version: 1)])).isEmpty)
        #expect(world.messages[Fixture.direct]?.map(\.content) == ["one", "two, better"])
        #expect(world.conversations[Fixture.direct]?.lastContent == "two, better")
    }

    @Test("left comes before conversations: put out and taken in again is in, with what is told now")
    func leftAndBack() {
        var world = Fixture.world()
        _ = world.apply(
            Fixture.changes(
                conversations: [Fixture.conversation(lastSeq: 9, lastContent: "nine", version: 1)],
                messages: [Fixture.message(9, "nine")], left: [Fixture.direct]))
        #expect(world.messages[Fixture.direct]?.map(\.seq) == [9])
    }

    @Test("nothing of a conversation that was left comes back with a message that was late")
    func lateMessage() {
        var world = Fixture.world()
        _ = world.apply(Fixture.changes(left: [Fixture.direct]))
        #expect(world.apply(Fixture.changes(messages: [Fixture.message(3, "late")])).isEmpty)
        #expect(world.conversations.isEmpty && world.messages[Fixture.direct] == nil)
    }

    @Test("a reset forgets all that was before")
    func reset() {
        var world = Fixture.world()
        _ = world.apply(Fixture.changes(reset: true, me: Fixture.person(Fixture.carol, "Carol")))
        #expect(world.conversations.isEmpty)
        #expect(world.myID == Fixture.carol)
        #expect(world.people.count == 1)
    }

    @Test("a message is read by all when every other member's mark has reached it")
    func readByAll() throws {
        var world = World()
        _ = world.apply(
            Fixture.changes(
                reset: true, me: Fixture.person(Fixture.alice, "Alice"),
                conversations: [
                    Fixture.conversation(
                        Fixture.group, title: "T", members: [(Fixture.alice, 0), (Fixture.bob, 0), (Fixture.carol, 0)])
                ],
                messages: [Fixture.message(1, "hello", from: Fixture.alice, name: "Alice", in: Fixture.group)]))
        let message = try #require(world.messages[Fixture.group]?.first)
        _ = world.apply(Fixture.changes(reads: [(Fixture.group, Fixture.bob, 1)]))
        #expect(!world.isReadByAll(message))
        _ = world.apply(Fixture.changes(reads: [(Fixture.group, Fixture.carol, 1)]))
        #expect(world.isReadByAll(message))
    }

    @Test("conversations stand with the newest message first")
    func order() {
        var world = Fixture.world()
        _ = world.apply(
            Fixture.changes(
                conversations: [Fixture.conversation(Fixture.group, title: "T", lastSeq: 1, lastContent: "x", at: 1)]))
        #expect(world.ordered.map(\.id) == [Fixture.direct, Fixture.group])
        _ = world.apply(Fixture.changes(messages: [Fixture.message(30, "y", in: Fixture.group)]))
        #expect(world.ordered.map(\.id) == [Fixture.group, Fixture.direct])
    }

    @Test("of more news than are told, the newest are held, and what stands before them can be fetched without a hole")
    func limited() throws {
        var world = Fixture.world()
        let events = world.apply(
            Fixture.changes(
                messages: [Fixture.message(8, "eight"), Fixture.message(9, "nine")], limited: [Fixture.direct]))
        #expect(events.first == .skipped(conversationID: Fixture.direct, count: 5))
        #expect(world.messages[Fixture.direct]?.map(\.seq) == [8, 9])
        let far = try [3, 4].map { try #require(Message(Fixture.message($0, "far"))) }
        world.applyOlder(far, of: Fixture.direct)
        #expect(world.messages[Fixture.direct]?.map(\.seq) == [8, 9])
        let near = try [6, 7].map { try #require(Message(Fixture.message($0, "near"))) }
        world.applyOlder(near, of: Fixture.direct)
        #expect(world.messages[Fixture.direct]?.map(\.seq) == [6, 7, 8, 9])
    }
}
