import Testing

@testable internal import Chat

@Suite("What the chat decides")
struct ChatModelTests {
    @Test("the world that a reset brings is no news, what follows is")
    func news() {
        var model = ChatModel()
        #expect(model.handle(.changes(Fixture.opening)).isEmpty)
        _ = model.handle(.link(.online))
        let outputs = model.handle(.changes(Fixture.changes(messages: [Fixture.message(3, "three")])))
        #expect(outputs.count == 1)
        #expect(model.handle(.changes(Fixture.changes(messages: [Fixture.message(3, "three")]))).isEmpty)
    }

    @Test("a conversation opens by number, by name, by the beginning of a name and by username")
    func open() {
        for name in ["1", "Bob Brown", "bob b", "BOB"] {
            var model = Fixture.model()
            #expect(model.perform(.open(name)) == [.notice(.opened(conversationID: Fixture.direct))])
            #expect(model.openID == Fixture.direct)
        }
    }

    @Test("a name that no conversation has is searched for; one hit opens, several are shown")
    func openBySearch() throws {
        var model = Fixture.model()
        #expect(model.perform(.open("carol")) == [.effect(.search(query: "carol", purpose: .open))])
        let carol = try #require(Person(Fixture.person(Fixture.carol, "Carol Clay", username: "carol")))
        let caroline = try #require(Person(Fixture.person("x", "Caroline", username: "caroline")))
        let exact = model.handle(.found(query: "carol", people: [caroline, carol], purpose: .open))
        #expect(exact == [.effect(.openDirect(carol))])
        let several = model.handle(.found(query: "caro", people: [caroline, carol], purpose: .open))
        #expect(several == [.notice(.people([caroline, carol], query: "caro"))])
    }

    @Test("what is sent waits in sight until the server has it, and stands once, whichever of push and answer is first")
    func send() throws {
        var model = Fixture.model()
        _ = model.perform(.open("1"))
        let sent = model.perform(.text("hello"))
        guard case .effect(.send(let outgoing))? = sent.first else {
            Issue.record("nothing is sent")
            return
        }
        #expect(model.outgoing == [outgoing])
        let json = Fixture.message(3, "hello", from: Fixture.alice, name: "Alice Ample", clientID: outgoing.clientID)
        #expect(model.handle(.changes(Fixture.changes(messages: [json]))).count == 1)
        #expect(model.outgoing.isEmpty)
        let message = try #require(Message(json))
        #expect(model.handle(.sent(clientID: outgoing.clientID, message)).isEmpty)
        #expect(model.openMessages.count == 3)
    }

    @Test("each message has a client id of its own")
    func clientIDs() {
        var model = Fixture.model()
        _ = model.perform(.open("1"))
        _ = model.perform(.text("a"))
        _ = model.perform(.text("a"))
        #expect(Set(model.outgoing.map(\.clientID)).count == 2)
    }

    @Test("without an open conversation a text is not sent")
    func sendNowhere() {
        var model = Fixture.model()
        guard case .notice(.failed)? = model.perform(.text("hello")).first else {
            Issue.record("it is not said")
            return
        }
    }

    @Test("a message before the reader's eyes is marked once")
    func marks() {
        var model = Fixture.model()
        #expect(model.sawNewest().isEmpty)
        _ = model.perform(.open("1"))
        #expect(model.sawNewest() == [.effect(.markRead(conversationID: Fixture.direct, seq: 2))])
        #expect(model.sawNewest().isEmpty)
        _ = model.handle(.changes(Fixture.changes(messages: [Fixture.message(3, "three")])))
        #expect(model.sawNewest() == [.effect(.markRead(conversationID: Fixture.direct, seq: 3))])
    }

    @Test("a refused message is given back with the reason")
    func refused() {
        var model = Fixture.model()
        _ = model.perform(.open("1"))
        _ = model.perform(.text("hello"))
        let outputs = model.handle(.refused(clientID: "client-1", reason: "No."))
        #expect(
            outputs == [
                .notice(
                    .refused(
                        Outgoing(clientID: "client-1", conversationID: Fixture.direct, content: "hello"), reason: "No.")
                )
            ])
        #expect(model.outgoing.isEmpty)
    }

    @Test("a conversation that is left closes, and what was on its way into it goes")
    func left() {
        var model = Fixture.model()
        _ = model.perform(.open("1"))
        _ = model.perform(.text("hello"))
        _ = model.handle(.changes(Fixture.changes(left: [Fixture.direct])))
        #expect(model.openID == nil)
        #expect(model.outgoing.isEmpty)
    }

    @Test("a line is a command, a text, or nothing")
    func commands() {
        #expect(TypedLine("  ") == nil)
        #expect(TypedLine(" hello ") == .text("hello"))
        #expect(TypedLine("//shrug") == .text("/shrug"))
        #expect(TypedLine("/open Bob Brown") == .open("Bob Brown"))
        #expect(TypedLine("/open") == .incomplete(usage: "/open NAME or NUMBER"))
        #expect(TypedLine("/NAME  Alice B ") == .name("Alice B"))
        #expect(TypedLine("/foo bar") == .unknown("foo"))
        #expect(TypedLine("/") == .unknown(""))
    }

    @Test("older messages are asked for once, from before the oldest held")
    func older() throws {
        var model = ChatModel()
        _ = model.handle(
            .changes(
                Fixture.changes(
                    reset: true, me: Fixture.person(Fixture.alice, "Alice"),
                    conversations: [Fixture.conversation(lastSeq: 40)], messages: [Fixture.message(40, "forty")],
                    limited: [Fixture.direct])))
        _ = model.handle(.link(.online))
        _ = model.perform(.open("1"))
        #expect(model.loadOlder() == [.effect(.loadOlder(conversationID: Fixture.direct, beforeSeq: 40))])
        #expect(model.loadOlder().isEmpty)
        let message = try #require(Message(Fixture.message(39, "thirty-nine")))
        _ = model.handle(.older(conversationID: Fixture.direct, [message]))
        #expect(model.openMessages.map(\.seq) == [39, 40])
        #expect(model.loadOlder() == [.effect(.loadOlder(conversationID: Fixture.direct, beforeSeq: 39))])
    }
}
