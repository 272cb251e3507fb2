import Testing

@testable import Chat
@testable import Postline

@Suite("Chat replies, mentions, reactions and pins")
struct MessageDetailsTests {
    /// A group of Alice, its owner, with Bob and Carol. Bob has written two messages.
    private var scene: Scene {
        var scene = Scene(of: Fixture.me())
        scene.add(Fixture.group, title: "Plans", members: [Fixture.alice, Fixture.bob, Fixture.carol])
        scene.change(Fixture.group) { $0.members[0].role = .owner }
        scene.say("To the lake?", in: Fixture.group)
        scene.say("Or up the hill?", in: Fixture.group)
        return scene
    }

    private func model(_ scene: Scene) -> ChatModel {
        var model = Fixture.model(scene)
        _ = model.perform(.open("1"))
        return model
    }

    private func lines(_ outputs: [ChatOutput], _ model: ChatModel) -> [String] {
        outputs.flatMap { output -> [String] in
            guard case .notice(let notice) = output else { return [] }
            return LineFormat(showsAvatars: false).lines(notice, model).map(\.text)
        }
    }

    @Test("parses the commands, with and without a number")
    func commands() {
        #expect(TypedLine("/reply To the lake") == .reply(seq: nil, "To the lake"))
        #expect(TypedLine("/reply #2 yes") == .reply(seq: 2, "yes"))
        #expect(TypedLine("/reply #2") == .incomplete(usage: "/reply TEXT, or /reply #NUMBER TEXT"))
        #expect(TypedLine("/react 👍") == .react(seq: nil, emoji: "👍"))
        #expect(TypedLine("/react #1 👍") == .react(seq: 1, emoji: "👍"))
        #expect(TypedLine("/react") == .incomplete(usage: "/react EMOJI, or /react #NUMBER EMOJI"))
        #expect(TypedLine("/thread") == .thread(seq: nil) && TypedLine("/thread #2") == .thread(seq: 2))
        #expect(TypedLine("/thread that") == .incomplete(usage: "/thread, or /thread #NUMBER"))
        #expect(TypedLine("/pin") == .pin(seq: nil, isPinned: true))
        #expect(TypedLine("/unpin #3") == .pin(seq: 3, isPinned: false))
        #expect(TypedLine("/pin this") == .incomplete(usage: "/pin, or /pin #NUMBER"))
        #expect(TypedLine("/archive") == .archive(true) && TypedLine("/unarchive") == .archive(false))
        #expect(TypedLine("/archive it") == .incomplete(usage: "/archive, and nothing else"))
    }

    @Test("answers the last message of another user, or one by its number")
    func replies() {
        var model = model(scene)
        let messages = model.openMessages
        func sent(_ text: String, _ details: MessageDetails) -> [ChatOutput] {
            [.effect(.send(conversationID: Fixture.group, content: text, details: details))]
        }
        #expect(model.perform(.reply(seq: nil, "Yes")) == sent("Yes", MessageDetails(replyTo: messages[1])))
        #expect(
            model.perform(.reply(seq: 1, "Yes, @bob"))
                == sent("Yes, @bob", MessageDetails(replyTo: messages[0], mentions: [Fixture.bob])))
        guard case .notice(.failed(let reason))? = model.perform(.reply(seq: 9, "Yes")).first else {
            Issue.record("the missing message is not reported")
            return
        }
        #expect(reason == "There is no message #9 here. /numbers lists them.")
        #expect(lines(model.perform(.numbers), model).last == "  #2    Bob Brown: Or up the hill?")
    }

    @Test("mentions members by username or first name, and everyone as the owner")
    func mentions() {
        func details(_ text: String, _ scene: Scene) -> MessageDetails? {
            var model = model(scene)
            guard case .effect(.send(_, _, let details))? = model.perform(.text(text)).first else { return nil }
            return details
        }
        #expect(details("@Bob, and @carol.", scene)?.mentions == [Fixture.bob, Fixture.carol])
        #expect(details("(@bob) @BOB", scene)?.mentions == [Fixture.bob])
        #expect(details("mail bob@carol.example, @alice @nobody @", scene) == MessageDetails())
        #expect(details("@everyone", scene) == MessageDetails(mentionsEveryone: true))
        var asMember = scene
        asMember.change(Fixture.group) { $0.members[0].role = .member }
        #expect(details("@everyone", asMember) == MessageDetails())
        // Of two users with one first name, neither is meant.
        var twins = scene
        twins.users[Fixture.carol] = Fixture.person(Fixture.carol, "Bob Clay", username: "clay")
        twins.users[Fixture.bob] = Fixture.person(Fixture.bob, "Bob Brown", username: "brown")
        #expect(details("@bob", twins)?.mentions == [])
    }

    @Test("shows mentions in colour: the user's own in yellow")
    func colours() throws {
        var message = Fixture.message(3, "@alice and @carol: see @bob", in: Fixture.group)
        message.mentions = [Fixture.alice, Fixture.carol]
        let conversation = try #require(model(scene).open)
        var line = StyledLine()
        line.append(message.shownContent, .plain, mentionsOf: message, in: conversation)
        #expect(
            line.spans.map(\.text) == ["@alice", " and ", "@carol", ": see @bob"]
                && line.spans.map(\.style.color) == [.yellow, nil, .cyan, nil])
        message.mentionsEveryone = true
        message.content = "@everyone!"
        line = StyledLine()
        line.append(message.shownContent, .plain, mentionsOf: message, in: conversation)
        #expect(line.spans.map(\.style.color) == [.yellow, nil])
    }

    @Test("sets a reaction, and takes back the user's own")
    func reactions() {
        var scene = scene
        var model = model(scene)
        #expect(
            model.perform(.react(seq: nil, emoji: "👍"))
                == [.effect(.react(model.openMessages[1], emoji: "👍", isSet: true))])
        scene.messages[Fixture.group]?[0].reactions = [
            Reaction(emoji: "👍", count: 2, isMine: true), Reaction(emoji: "🎉", count: 1),
        ]
        #expect(lines(model.handle(.shows(scene.shown)), model) == ["* #1 has 👍 2, 🎉 1: To the lake?"])
        #expect(
            model.perform(.react(seq: 1, emoji: "👍"))
                == [.effect(.react(model.openMessages[0], emoji: "👍", isSet: false))])
        #expect(
            model.perform(.react(seq: 1, emoji: "🎉"))
                == [.effect(.react(model.openMessages[0], emoji: "🎉", isSet: true))])
        scene.messages[Fixture.group]?[0].reactions = []
        #expect(lines(model.handle(.shows(scene.shown)), model) == ["* #1 has no reactions: To the lake?"])
    }

    @Test("shows the replies to the last answered message, or to one by its number")
    func threads() {
        var scene = scene
        var model = model(scene)
        #expect(lines(model.perform(.thread(seq: nil)), model) == ["! There is no such message here."])
        #expect(model.perform(.thread(seq: 2)) == [.effect(.loadReplies(model.openMessages[1]))])
        #expect(lines(model.perform(.thread(seq: 9)), model).first?.contains("no message #9") == true)
        scene.say("Yes", in: Fixture.group)
        scene.messages[Fixture.group]?[2].replyTo = Message.Quote(
            seq: 1, senderID: Fixture.bob, content: "To the lake?", version: 1)
        _ = model.handle(.shows(scene.shown))
        let messages = model.openMessages
        #expect(model.perform(.thread(seq: nil)) == [.effect(.loadReplies(messages[0]))])
        #expect(
            lines(model.handle(.replies(messages[0], [messages[2]])), model)
                == ["  #1    Bob Brown: To the lake?", "  #3    Bob Brown: Yes"])
        #expect(lines(model.handle(.replies(messages[1], [])), model) == ["* Nobody has answered #2."])
        let many = Array(repeating: messages[2], count: ChatEffect.maxReplies)
        #expect(
            lines(model.handle(.replies(messages[0], many)), model).last == "* These are the last 200 replies.")
    }

    @Test("pins the last message or one by its number, and shows the pinned ones")
    func pins() {
        var scene = scene
        var model = model(scene)
        let messages = model.openMessages
        #expect(model.perform(.pin(seq: nil, isPinned: true)) == [.effect(.pin(messages[1], isPinned: true))])
        #expect(lines(model.perform(.pins), model) == ["* Nothing is pinned here."])
        scene.change(Fixture.group) { $0.pinnedSeqs = [1] }
        #expect(lines(model.handle(.shows(scene.shown)), model) == ["* #1 is pinned"])
        #expect(lines(model.perform(.pins), model) == ["  #1    Bob Brown: To the lake?"])
        #expect(model.perform(.pin(seq: nil, isPinned: false)) == [.effect(.pin(messages[0], isPinned: false))])
        scene.change(Fixture.group) { $0.pinnedSeqs = [] }
        #expect(lines(model.handle(.shows(scene.shown)), model) == ["* #1 is no longer pinned"])
    }

    @Test("archives the open conversation, and lists it last")
    func archive() {
        var scene = scene
        scene.add(Fixture.direct, members: [Fixture.alice, Fixture.bob])
        var model = model(scene)
        #expect(
            model.perform(.archive(true)) == [.effect(.archive(conversationID: Fixture.group, isArchived: true))])
        scene.change(Fixture.group) { $0.isArchived = true }
        #expect(lines(model.handle(.shows(scene.shown)), model) == ["* “Plans” is in the archive"])
        #expect(model.shown.conversations.map(\.id) == [Fixture.direct, Fixture.group])
        #expect(lines([.notice(.conversations)], model).last?.hasSuffix("(archived)") == true)
    }

    @Test("shows quotes, reactions, pins and unread mentions on the screen and in lines")
    func shown() {
        var scene = scene
        scene.say("Yes, @alice", in: Fixture.group)
        scene.change(Fixture.group) { ($0.unreadMentions, $0.pinnedSeqs) = (1, [3]) }
        scene.messages[Fixture.group]?[2].mentions = [Fixture.alice]
        scene.messages[Fixture.group]?[2].reactions = [Reaction(emoji: "👍", count: 1)]
        scene.messages[Fixture.group]?[2].replyTo = Message.Quote(
            seq: 1, senderID: Fixture.bob, content: "To the lake?", version: 1)
        var screen = ScreenModel(address: "127.0.0.1:7432")
        _ = screen.handle(.shows(scene.shown))
        func text() -> String { screen.frame(width: 90, height: 24).rows.map(\.text).joined(separator: "\n") }
        #expect(text().contains(" @3 "))
        _ = screen.handle(.enter)
        let rows = text()
        #expect(rows.contains("┃ Bob Brown: To the lake?") && rows.contains("Yes, @alice (pinned)"))
        #expect(rows.contains(" 👍 1 ") && rows.contains("1 pinned"))

        let model = model(scene)
        let opened = lines([.notice(.opened(conversationID: Fixture.group))], model)
        // Without the times.
        #expect(
            opened.map { $0.first?.isNumber == true ? String($0.dropFirst(6)) : $0 } == [
                "* in “Plans”", "* pinned: #3; /pins shows them", "Bob Brown: To the lake?",
                "Bob Brown: Or up the hill?", "Bob Brown: Yes, @alice",
                "      > #1 Bob Brown: To the lake?", "      [👍 1]",
            ])
        #expect(lines([.notice(.conversations)], model).first?.contains("3 new @") == true)
    }
}
