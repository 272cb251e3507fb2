import Testing

@testable import Chat
@testable import Postline

@Suite("Blocks in the chat")
struct BlockTests {
    private func group(_ change: (inout Scene) -> Void = { _ in }) -> Scene {
        var scene = Scene()
        scene.add(Fixture.group, title: "Alps", members: [Fixture.alice, Fixture.bob, Fixture.carol])
        scene.say("an insult", in: Fixture.group)
        change(&scene)
        return scene
    }

    @Test("/block and /unblock take a name, or the other user of the open conversation")
    func commands() {
        var model = Fixture.model(group())
        #expect(TypedLine("/block Bob Brown") == .block("Bob Brown") && TypedLine("/unblock") == .unblock(nil))
        #expect(model.perform(.block("bob")) == [.effect(.block(.block(.known(id: Fixture.bob))))])
        #expect(model.perform(.unblock("Zoe")) == [.effect(.block(.unblock(.named("Zoe"))))])
        #expect(model.perform(.blocked) == [.effect(.block(.list))])
        let missing = ChatOutput.notice(.failed("Give a name, or open the conversation with the person."))
        #expect(model.perform(.block(nil)) == [missing])
        _ = model.perform(.open("alps"))
        #expect(model.perform(.block(nil)) == [missing])
        _ = model.perform(.open("bob"))
        #expect(model.perform(.block(nil)) == [.effect(.block(.block(.known(id: Fixture.bob))))])
    }

    @Test("shows placeholders for the messages of blocked users, and for their quotes and previews")
    func placeholders() {
        let scene = group { scene in
            scene.say("and what now?", from: Fixture.carol, in: Fixture.group)
            scene.messages[Fixture.group]?[0].isBlocked = true
            scene.messages[Fixture.group]?[1].replyTo = Message.Quote(
                seq: 1, senderID: Fixture.bob, content: "an insult", version: 1)
            scene.messages[Fixture.group]?[1].replyTo?.isBlocked = true
            scene.change(Fixture.group) {
                $0.isLastMessageBlocked = true
                $0.lastMessageContent = "an insult"
            }
        }
        var model = Fixture.model(scene)
        _ = model.perform(.open("alps"))
        let format = LineFormat(showsAvatars: false)
        let lines = format.lines(.opened(conversationID: Fixture.group), model) + format.lines(.conversations, model)
        let text = lines.map(\.text).joined(separator: "\n")
        #expect(text.ranges(of: Message.blockedContent).count == 3 && !text.contains("an insult"), "\(text)")
        #expect(text.contains("and what now?"))
        var screen = ScreenModel(address: "127.0.0.1:7432")
        _ = screen.handle(.shows(scene.shown))
        _ = screen.perform(.open("alps"))
        let rows = screen.frame(width: 120, height: 30).rows.map(\.text).joined(separator: "\n")
        #expect(rows.contains(Message.blockedContent) && !rows.contains("an insult"), "\(rows)")
    }

    @Test("says why nothing can be written to a blocked user, and keeps the text")
    func closed() {
        var scene = Scene()
        scene.change { $0.isBlocked = true }
        let reason = "You have blocked Bob Brown. /unblock lets you write."
        var model = Fixture.model(scene)
        _ = model.perform(.open("bob"))
        for line: TypedLine in [
            .text("hi"), .reply(seq: nil, "hi"), .image(path: "x"), .later(.after(minutes: 5), "hi"),
        ] {
            #expect(model.perform(line) == [.notice(.failed(reason))])
        }
        #expect(model.perform(.blocked) == [.effect(.block(.list))])
        var screen = ScreenModel(address: "127.0.0.1:7432")
        _ = screen.handle(.shows(scene.shown))
        for key in [Key.enter, .text("h"), .text("i"), .enter] { _ = screen.handle(key) }
        #expect(screen.editor.text == "hi")
        #expect(screen.frame(width: 90, height: 20).rows.contains { $0.text.contains(reason) })
    }

    @Test("lists the blocked users, and completes their names for /unblock alone")
    func list() {
        let shown = ClientSnapshot(
            state: .live, me: Fixture.me(), conversations: group().shown.conversations, blocked: [Fixture.bob])
        var model = ChatModel()
        _ = model.handle(.shows(shown))
        #expect(Completion("/unblock ", model)?.candidates == ["Bob Brown"])
        #expect(Completion("/block ", model)?.candidates == ["Carol"])
        let notice = ChatNotice.blocked([Fixture.person()])
        #expect(model.handle(.blocked([Fixture.person()])) == [.notice(notice)])
        let format = LineFormat(showsAvatars: false)
        #expect(format.lines(notice, model).map(\.text) == ["  Bob Brown  /unblock bob"])
        #expect(format.lines(.blocked([]), model).map(\.text) == ["* you block nobody"])
    }
}
