import Foundation
import Testing

@testable import Chat
@testable import Postline

@Suite("Chat model")
struct ChatModelTests {
    @Test("announces changes only after the initial sync")
    func news() {
        var scene = Scene(of: Fixture.me())
        var model = ChatModel()
        scene.state = .catchingUp
        #expect(model.handle(.shows(scene.shown)).isEmpty)
        scene = Scene()
        let notices = model.handle(.shows(scene.shown))
        #expect(notices == [.notice(.link(.online)), .effect(.fetchCatalogue)])
        scene.say("three")
        #expect(model.handle(.shows(scene.shown)).count == 1)
        #expect(model.handle(.shows(scene.shown)).isEmpty)
    }

    @Test("shows stored data while offline, and announces later messages")
    func offlineStart() {
        var scene = Scene()
        scene.state = .connecting
        var model = Fixture.model(scene)
        #expect(!model.isFilling && model.link == .connecting)
        _ = model.perform(.open("bob"))
        #expect(model.openMessages.map(\.content) == ["one", "two"])
        scene.state = .offline(since: Fixture.time(0))
        #expect(model.handle(.shows(scene.shown)) == [.notice(.link(.offline))])
        scene.state = .connecting
        #expect(model.handle(.shows(scene.shown)).isEmpty && model.link == .offline)
        scene.state = .live
        scene.say("three")
        let outputs = model.handle(.shows(scene.shown))
        guard case .notice(.news(.message(let message)))? = outputs.first else {
            Issue.record("the new message is not announced")
            return
        }
        #expect(message.content == "three" && outputs.contains(.notice(.link(.online))))
    }

    @Test("announces a message that streams at its end")
    func streamed() throws {
        var scene = Scene()
        var model = Fixture.model(scene)
        scene.say("One")
        func streams(_ text: String, _ isStreaming: Bool) -> [String?] {
            guard let last = scene.messages[Fixture.direct]?.indices.last else { return [] }
            scene.messages[Fixture.direct]?[last].content = text
            scene.messages[Fixture.direct]?[last].isStreaming = isStreaming
            return model.handle(.shows(scene.shown)).compactMap {
                if case .notice(.news(.message(let message))) = $0 { message.content } else { nil }
            }
        }
        #expect(streams("One", true) == [])
        #expect(streams("One two", true) == [])
        #expect(streams("One two three", false) == ["One two three"])
        #expect(streams("One two three", false) == [])
    }

    @Test("announces the newest messages and the number of skipped ones")
    func skipped() {
        var scene = Scene()
        var model = Fixture.model(scene)
        for number in 3...9 { scene.say("\(number)") }
        scene.messages[Fixture.direct]?.removeAll { $0.seq ?? 0 < 8 }
        let outputs = model.handle(.shows(scene.shown))
        #expect(outputs.first == .notice(.news(.skipped(conversationID: Fixture.direct, count: 5))))
        #expect(outputs.count == 3)
    }

    @Test("announces a message once it has arrived, not when its number has")
    func numberFirst() {
        var scene = Scene()
        var model = Fixture.model(scene)
        scene.say("three")
        let message = scene.messages[Fixture.direct]?.popLast()
        #expect(model.handle(.shows(scene.shown)).isEmpty)
        if let message { scene.messages[Fixture.direct]?.append(message) }
        let outputs = model.handle(.shows(scene.shown))
        guard case .notice(.news(.message(let shown)))? = outputs.first else {
            Issue.record("the message is not announced")
            return
        }
        #expect(shown.content == "three")
    }

    @Test("announces and marks new messages after a restore lowered the numbers")
    func restored() {
        var scene = Scene()
        for number in 3...9 { scene.say("\(number)") }
        var model = Fixture.model(scene)
        _ = model.perform(.open("bob"))
        #expect(model.sawNewest() == [.effect(.markRead(conversationID: Fixture.direct, seq: 9))])
        scene.messages[Fixture.direct]?.removeAll { $0.seq ?? 0 > 2 }
        scene.change { ($0.lastSeq, $0.lastReadSeq) = (2, 2) }
        #expect(model.handle(.shows(scene.shown)).isEmpty)
        scene.say("after it")
        let outputs = model.handle(.shows(scene.shown))
        guard case .notice(.news(.message(let message)))? = outputs.first else {
            Issue.record("the new message is not announced")
            return
        }
        #expect(message.content == "after it" && outputs.count == 1)
        #expect(model.sawNewest() == [.effect(.markRead(conversationID: Fixture.direct, seq: 3))])
    }

    @Test("announces messages of an unloaded conversation once they are loaded")
    func follows() {
        var scene = Scene()
        var model = Fixture.model(scene)
        scene.say("three")
        let messages = scene.messages
        scene.messages = [:]
        #expect(model.handle(.shows(scene.shown)).isEmpty)
        #expect(model.followed == [Fixture.direct])
        scene.messages = messages
        #expect(model.handle(.shows(scene.shown)).count == 1)
    }

    @Test("opens a conversation by number, name, start of a name or username")
    func open() {
        for name in ["1", "Bob Brown", "bob b", "BOB"] {
            var model = Fixture.model()
            #expect(model.perform(.open(name)) == [.notice(.opened(conversationID: Fixture.direct))])
            #expect(model.openID == Fixture.direct)
        }
    }

    @Test("searches for an unknown name, and opens the only exact match")
    func openBySearch() {
        var model = Fixture.model()
        #expect(model.perform(.open("carol")) == [.effect(.search(query: "carol", purpose: .open))])
        let carol = Fixture.person(Fixture.carol, "Carol Clay", username: "carol")
        let caroline = Fixture.person("x", "Caroline", username: "caroline")
        let exact = model.handle(.found(query: "carol", users: [caroline, carol], purpose: .open))
        #expect(exact == [.effect(.openDirect(carol))])
        let several = model.handle(.found(query: "caro", users: [caroline, carol], purpose: .open))
        #expect(several == [.notice(.found([caroline, carol], [], query: "caro"))])
    }

    @Test("sends text to the open conversation, and fails without one")
    func send() {
        var model = Fixture.model()
        guard case .notice(.failed)? = model.perform(.text("hello")).first else {
            Issue.record("the missing conversation is not reported")
            return
        }
        _ = model.perform(.open("1"))
        #expect(model.perform(.text("hello")) == [.effect(.send(conversationID: Fixture.direct, content: "hello"))])
    }

    @Test("marks a visible message as read once")
    func marks() {
        var scene = Scene()
        var model = Fixture.model(scene)
        #expect(model.sawNewest().isEmpty)
        _ = model.perform(.open("1"))
        #expect(model.sawNewest() == [.effect(.markRead(conversationID: Fixture.direct, seq: 2))])
        #expect(model.sawNewest().isEmpty)
        scene.say("three")
        _ = model.handle(.shows(scene.shown))
        #expect(model.sawNewest() == [.effect(.markRead(conversationID: Fixture.direct, seq: 3))])
    }

    @Test("retries or discards refused messages")
    func refused() {
        var scene = Scene()
        var model = Fixture.model(scene)
        #expect(model.perform(.retry(nil)) == [.notice(.info("Nothing is refused."))])
        scene.refused = [Fixture.refusal(7), Fixture.refusal(9), Fixture.refusal(11)]
        #expect(model.handle(.shows(scene.shown)) == scene.refused.map { .notice(.refused($0)) })
        #expect(model.handle(.shows(scene.shown)).isEmpty)
        #expect(model.perform(.retry(2)) == [.effect(.retry([9]))])
        #expect(model.perform(.retry(nil)) == [.effect(.retry([7, 9, 11]))])
        #expect(model.perform(.discard(1)) == [.effect(.discard([7]))])
        guard case .notice(.failed)? = model.perform(.discard(4)).first else {
            Issue.record("an unknown number is accepted")
            return
        }
    }

    @Test("announces a message again if its retry is refused")
    func refusedAgain() {
        var scene = Scene()
        var model = Fixture.model(scene)
        scene.refused = [Fixture.refusal(7), Fixture.refusal(9)]
        _ = model.handle(.shows(scene.shown))
        #expect(model.handle(.shows(scene.shown)) == [])
        #expect(model.perform(.retry(2)) == [.effect(.retry([9]))])
        #expect(model.handle(.shows(scene.shown)) == [.notice(.refused(scene.refused[1]))])
        #expect(model.handle(.shows(scene.shown)) == [])
    }

    @Test("discards other refused changes and shows their errors")
    func dropped() {
        var scene = Scene()
        var model = Fixture.model(scene)
        scene.refused = [Fixture.refusal(1, .profile), Fixture.refusal(2, .edit), Fixture.refusal(3, .readMark)]
        let outputs = model.handle(.shows(scene.shown))
        #expect(
            outputs == [
                .effect(.discard([1])), .notice(.failed("No.")), .effect(.discard([2])),
                .notice(.failed("Not edited (No.): hello")), .effect(.discard([3])),
            ])
        #expect(model.handle(.shows(scene.shown)).isEmpty)
    }

    @Test("discards changes refused before the start, without announcing messages")
    func droppedAtStart() {
        var scene = Scene()
        scene.refused = [Fixture.refusal(1), Fixture.refusal(2, .profile)]
        var model = ChatModel()
        let outputs = model.handle(.shows(scene.shown))
        #expect(outputs.prefix(2) == [.effect(.discard([2])), .notice(.failed("No."))])
        #expect(!outputs.contains(.notice(.refused(scene.refused[0]))))
    }

    @Test("edits and deletes only the user's own messages, by default the last")
    func edits() throws {
        var scene = Scene()
        scene.say("mine", from: Fixture.alice)
        scene.say("mine too", from: Fixture.alice)
        scene.say("Bob's", from: Fixture.bob)
        var model = Fixture.model(scene)
        _ = model.perform(.open("1"))
        let own = model.ownMessages
        #expect(own.map(\.seq) == [3, 4])
        #expect(model.perform(.edit(seq: nil, "better")) == [.effect(.edit(own[1], content: "better"))])
        #expect(model.perform(.edit(seq: 3, "best")) == [.effect(.edit(own[0], content: "best"))])
        #expect(model.perform(.edit(seq: nil, nil)) == [.notice(.edit(own[1]))])
        #expect(model.perform(.edit(seq: nil, "mine too")).isEmpty)
        #expect(model.perform(.delete(seq: 3)) == [.effect(.delete(own[0]))])
        for command in [TypedLine.edit(seq: 5, "x"), .delete(seq: 5), .delete(seq: 99)] {
            guard case .notice(.failed)? = model.perform(command).first else {
                Issue.record("\(command) is not refused")
                continue
            }
        }
    }

    @Test("resends an edited refused message, and discards a deleted unsent one")
    func unsent() {
        var scene = Scene()
        let error = PostlineError(.forbidden, "No.")
        scene.messages[Fixture.direct]?
            .append(Fixture.message(nil, "hello", from: Fixture.alice, delivery: .refused(error, change: 7)))
        var model = Fixture.model(scene)
        _ = model.perform(.open("1"))
        #expect(
            model.perform(.edit(seq: nil, "hi")) == [
                .effect(.discard([7])), .effect(.send(conversationID: Fixture.direct, content: "hi")),
            ])
        #expect(model.perform(.delete(seq: nil)) == [.effect(.discard([7]))])
        scene.messages[Fixture.direct]?
            .append(Fixture.message(nil, "later", from: Fixture.alice, delivery: .queued(change: 8), id: "x"))
        _ = model.handle(.shows(scene.shown))
        #expect(model.perform(.delete(seq: nil)) == [.effect(.discard([8]))])
        guard case .notice(.failed)? = model.perform(.edit(seq: nil, "x")).first else {
            Issue.record("a queued message is edited")
            return
        }
    }

    @Test("creates and manages groups by members' names")
    func groups() {
        var scene = Scene()
        scene.add(Fixture.group, title: "Alps", members: [Fixture.alice, Fixture.bob, Fixture.carol])
        var model = Fixture.model(scene)
        #expect(
            model.perform(.group(title: "T", with: ["BOB", "zoe"])) == [
                .effect(.group(.create(title: "T", with: [.known(id: Fixture.bob), .named("zoe")])))
            ])
        _ = model.perform(.open("1"))
        guard case .notice(.failed)? = model.perform(.leave).first else {
            Issue.record("a direct conversation is left")
            return
        }
        _ = model.perform(.open("alps"))
        #expect(model.perform(.leave) == [.effect(.group(.leave(Fixture.group)))])
        #expect(model.perform(.rename("Sea")) == [.effect(.group(.rename(Fixture.group, to: "Sea")))])
        #expect(
            model.perform(.remove("carol")) == [.effect(.group(.remove(userID: Fixture.carol, from: Fixture.group)))])
        #expect(
            model.perform(.role("admin", of: "Bob Brown")) == [
                .effect(.group(.setRole(.admin, of: Fixture.bob, in: Fixture.group)))
            ])
        guard case .notice(.failed)? = model.perform(.remove("zoe")).first else {
            Issue.record("a user who is not a member is removed")
            return
        }
    }

    @Test("announces changes of a group's members, roles and title")
    func groupNews() {
        var scene = Scene()
        scene.add(Fixture.group, title: "Alps", members: [Fixture.alice, Fixture.bob])
        var model = Fixture.model(scene)
        scene.change(Fixture.group) { group in
            group.title = "Sea"
            group.members[1].role = .admin
            group.members.append(
                .init(userID: Fixture.carol, role: .member, joinedAt: Fixture.time(1), lastReadSeq: 0))
        }
        let lines = LineFormat(showsAvatars: false)
        func texts(_ outputs: [ChatOutput], _ model: ChatModel) -> [String] {
            outputs.flatMap { output -> [String] in
                guard case .notice(let notice) = output else { return [] }
                return lines.lines(notice, model).map(\.text)
            }
        }
        var outputs = model.handle(.shows(scene.shown))
        #expect(
            texts(outputs, model) == [
                "* “Alps” is now “Sea”", "* Bob Brown is now admin of “Sea”", "* Carol is now in “Sea”",
            ])
        scene.change(Fixture.group) { $0.members.removeLast() }
        outputs = model.handle(.shows(scene.shown))
        #expect(texts(outputs, model) == ["* Carol is no longer in “Sea”"])
        scene.conversations.removeLast()
        outputs = model.handle(.shows(scene.shown))
        #expect(texts(outputs, model) == ["* you are no longer in “Sea”"])
    }

    @Test("announces an edit of a loaded message with its number")
    func changed() {
        var scene = Scene()
        var model = Fixture.model(scene)
        scene.messages[Fixture.direct]?[1].content = "2"
        scene.messages[Fixture.direct]?[1].editedAt = Fixture.time(9)
        let outputs = model.handle(.shows(scene.shown))
        guard case .notice(let notice)? = outputs.first else {
            Issue.record("the edit is not announced")
            return
        }
        #expect(LineFormat(showsAvatars: false).lines(notice, model).map(\.text) == ["* Bob Brown edited #2: 2"])
    }

    @Test("closes a conversation that the user has left")
    func left() {
        var scene = Scene()
        var model = Fixture.model(scene)
        _ = model.perform(.open("1"))
        scene.conversations = []
        _ = model.handle(.shows(scene.shown))
        #expect(model.openID == nil && model.followed.isEmpty)
    }

    @Test("parses a line as a command, a text or nothing")
    func commands() {
        #expect(TypedLine("  ") == nil)
        #expect(TypedLine(" hello ") == .text("hello"))
        #expect(TypedLine("//shrug") == .text("/shrug"))
        #expect(TypedLine("/open Bob Brown") == .open("Bob Brown"))
        #expect(TypedLine("/open") == .incomplete(usage: "/open NAME or NUMBER"))
        #expect(TypedLine("/NAME  Alice B ") == .name("Alice B"))
        #expect(TypedLine("/foo bar") == .unknown("foo"))
        #expect(TypedLine("/image a b.png") == .image(path: "a b.png"))
        #expect(TypedLine("/image") == .incomplete(usage: "/image FILE"))
        #expect(FileAction.path("~/me.JPG") == "~/me.JPG" && FileAction.path("./me") == "./me")
        #expect(FileAction.path("owl") == nil && FileAction.path("https://x.example/a.png") == nil)
        #expect(TypedLine("/") == .unknown(""))
        #expect(TypedLine("/edit #12 a b") == .edit(seq: 12, "a b"))
        #expect(TypedLine("/edit a b") == .edit(seq: nil, "a b"))
        #expect(TypedLine("/edit") == .edit(seq: nil, nil))
        #expect(TypedLine("/delete") == .delete(seq: nil))
        #expect(TypedLine("/delete #3") == .delete(seq: 3))
        #expect(TypedLine("/delete me") == .incomplete(usage: "/delete, or /delete #NUMBER"))
        #expect(
            TypedLine("/group Out with friends with bob, Carol Clay")
                == .group(
                    title: "Out with friends", with: ["bob", "Carol Clay"]))
        #expect(TypedLine("/group Alps") == .incomplete(usage: "/group TITLE with NAME, NAME"))
        #expect(TypedLine("/role Bob Brown admin") == .role("admin", of: "Bob Brown"))
        #expect(TypedLine("/retry") == .retry(nil))
        #expect(TypedLine("/discard") == .incomplete(usage: "/discard NUMBER, or /discard all"))
        #expect(TypedLine("/discard all") == .discard(nil))
    }

    @Test("requests older messages once and shows them when loaded")
    func older() {
        var scene = Scene()
        scene.older = [Fixture.direct]
        scene.messages[Fixture.direct]?.removeFirst()
        var model = Fixture.model(scene)
        _ = model.perform(.open("1"))
        #expect(model.loadOlder() == [.effect(.loadOlder(conversationID: Fixture.direct))])
        #expect(model.loadOlder().isEmpty)
        scene.older = []
        let oldest = Fixture.message(1, "one")
        scene.messages[Fixture.direct]?.insert(oldest, at: 0)
        #expect(model.handle(.shows(scene.shown)).isEmpty)
        guard case .notice(.older(_, let messages))? = model.handle(.loadedOlder(conversationID: Fixture.direct)).first
        else {
            Issue.record("the older messages are not shown")
            return
        }
        #expect(messages.map(\.content) == ["one"])
        #expect(model.perform(.older) == [.notice(.info("There is nothing older."))])
    }
}
