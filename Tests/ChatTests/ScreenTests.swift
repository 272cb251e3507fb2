import TestSupport
import Testing

@testable internal import Chat

@Suite("The chat on the screen")
struct ScreenTests {
    private func screen() -> ScreenModel {
        var screen = ScreenModel(address: "127.0.0.1:7432")
        _ = screen.handle(.changes(Fixture.opening))
        _ = screen.handle(.link(.online))
        return screen
    }

    private func text(_ screen: inout ScreenModel, width: Int = 90, height: Int = 20) -> String {
        screen.picture(width: width, height: height).rows.map(\.text).joined(separator: "\n")
    }

    @Test("every picture fills its size and not a cell more")
    func size() {
        for (width, height) in [(90, 20), (64, 6), (40, 12), (20, 6), (200, 60)] {
            var screen = screen()
            for keys in [[], [Key.enter], [.text("/"), .text("h"), .text("日本語")]] as [[Key]] {
                for key in keys { _ = screen.handle(key) }
                let picture = screen.picture(width: width, height: height)
                #expect(picture.rows.count == height)
                #expect(picture.rows.allSatisfy { $0.width <= width })
                if let cursor = picture.cursor { #expect(cursor.row < height && cursor.column < width) }
            }
        }
    }

    @Test("the list shows names, unread counts and the newest text; enter opens and marks as read")
    func list() {
        var screen = screen()
        let before = text(&screen)
        #expect(before.contains("Bob Brown") && before.contains(" 2 ") && before.contains("two"))
        #expect(screen.handle(.enter) == [.markRead(conversationID: Fixture.direct, seq: 2)])
        #expect(text(&screen).contains("one"))
    }

    @Test("a number opens a conversation")
    func number() {
        var screen = screen()
        _ = screen.handle(.text("1"))
        #expect(screen.chat.openID == Fixture.direct)
    }

    @Test("a changed name shows at once, in past messages, the list and the head", .covers("B43"))
    func rename() {
        var screen = screen()
        _ = screen.handle(.enter)
        #expect(text(&screen).contains("Bob Brown"))
        _ = screen.handle(.changes(Fixture.changes(profiles: [Fixture.person(Fixture.bob, "Robert", version: 2)])))
        _ = screen.handle(.tab)
        let after = text(&screen)
        #expect(after.contains("Robert") && !after.contains("Bob Brown"))
    }

    @Test("typed text goes out with enter, waits in sight, and gets its signs")
    func send() {
        var screen = screen()
        _ = screen.handle(.enter)
        for character in "hello you" { _ = screen.handle(.text(String(character))) }
        guard case .send(let outgoing)? = screen.handle(.enter).first else {
            Issue.record("nothing is sent")
            return
        }
        #expect(outgoing.content == "hello you")
        #expect(text(&screen).contains("…"))
        let message = Fixture.message(
            3, "hello you", from: Fixture.alice, name: "Alice Ample", clientID: outgoing.clientID)
        _ = screen.handle(.changes(Fixture.changes(messages: [message])))
        #expect(text(&screen).contains("✓") && !text(&screen).contains("✓✓"))
        _ = screen.handle(.changes(Fixture.changes(reads: [(Fixture.direct, Fixture.bob, 3)])))
        #expect(text(&screen).contains("✓✓"))
    }

    @Test("who is scrolled up stays there when a message comes, and it is not marked as read")
    func scroll() {
        var screen = ScreenModel(address: "x")
        let messages = (1...40).map { Fixture.message($0, "text \($0)") }
        _ = screen.handle(
            .changes(
                Fixture.changes(
                    reset: true, me: Fixture.person(Fixture.alice, "Alice"),
                    conversations: [Fixture.conversation(lastSeq: 40)], messages: messages)))
        _ = screen.handle(.link(.online))
        _ = screen.handle(.enter)
        _ = screen.picture(width: 80, height: 16)
        _ = screen.handle(.pageUp)
        let before = text(&screen, width: 80, height: 16)
        #expect(!before.contains("text 39"))
        let effects = screen.handle(.changes(Fixture.changes(messages: [Fixture.message(41, "text 41")])))
        #expect(effects.isEmpty)
        let after = text(&screen, width: 80, height: 16)
        #expect(
            after.split(separator: "\n").dropFirst(6).dropLast(3).map { $0.dropFirst(34) }
                == before.split(separator: "\n").dropFirst(6).dropLast(3).map { $0.dropFirst(34) })
        _ = screen.handle(.pageDown)
        #expect(screen.handle(.pageDown) == [.markRead(conversationID: Fixture.direct, seq: 41)])
        #expect(text(&screen, width: 80, height: 16).contains("10:41  B  Bob Brown"))
    }

    @Test("the loss of the connection and its return are said")
    func link() {
        var screen = screen()
        _ = screen.handle(.link(.offline(reason: "The server is going down.", wait: .milliseconds(1500))))
        let away = text(&screen, width: 120)
        #expect(away.contains("The server is away.") && away.contains("(The server is going down.)"))
        #expect(away.contains("trying again in 1.5 s"))
        _ = screen.handle(.link(.connecting))
        #expect(text(&screen, width: 120).contains("The server is away."))
        _ = screen.handle(.link(.online))
        let back = text(&screen)
        #expect(back.contains("● 127.0.0.1:7432") && back.contains("Connected again."))
    }

    @Test("a message that cannot be taken now is said to be kept, and whoever leaves without it is asked once")
    func unsent() {
        var screen = screen()
        _ = screen.handle(.enter)
        guard case .send(let outgoing)? = type("hello", &screen).first else {
            Issue.record("nothing is sent")
            return
        }
        _ = screen.handle(.delayed(reason: "The database cannot be reached now."))
        let notice = "Not sent yet, and tried again by itself: The database cannot be reached now."
        #expect(text(&screen, width: 120).contains(notice))
        #expect(type("/quit", &screen) == [.quit(saying: nil)])
        let mayLeaveAtOnce = screen.mayLeave()
        #expect(!mayLeaveAtOnce)
        #expect(text(&screen, width: 120).contains("A message is not sent yet. Leave once more to leave without."))
        #expect(screen.handle(.interrupt) == [.quit(saying: nil)])
        let mayLeaveThen = screen.mayLeave()
        #expect(mayLeaveThen)
        let message = Fixture.message(
            3, "hello", from: Fixture.alice, name: "Alice Ample", clientID: outgoing.clientID)
        _ = screen.handle(.delayed(reason: "The database cannot be reached now."))
        _ = screen.handle(.changes(Fixture.changes(messages: [message])))
        #expect(!text(&screen, width: 120).contains("Not sent yet"))
        #expect(type("/quit", &screen) == [.quit(saying: nil)])
        let mayLeaveWithNothing = screen.mayLeave()
        #expect(mayLeaveWithNothing)
    }

    private func type(_ text: String, _ screen: inout ScreenModel) -> [ChatEffect] {
        for character in text { _ = screen.handle(.text(String(character))) }
        return screen.handle(.enter)
    }

    @Test("a password is asked for at the bottom and stands nowhere on the screen; escape gives up")
    func password() {
        var screen = screen()
        #expect(type("/password", &screen).isEmpty)
        #expect(text(&screen).contains("Your password: "))
        for character in "secret" { _ = screen.handle(.text(String(character))) }
        let asked = text(&screen)
        #expect(asked.contains("Your password: ••••••") && !asked.contains("secret"))
        _ = screen.handle(.escape)
        #expect(screen.chat.question == nil && text(&screen).contains("Nothing was changed."))
        for line in ["/password", "old", "secret"] { #expect(type(line, &screen).isEmpty) }
        #expect(type("secret", &screen) == [.account(.changePassword(from: "old", to: "secret"))])
        #expect(screen.editor.isEmpty && !text(&screen).contains("•"))
    }

    @Test("a message that comes back while a password is asked for does not get among it")
    func refusedMeanwhile() {
        var screen = screen()
        _ = screen.handle(.enter)
        _ = type("hello", &screen)
        _ = type("/password", &screen)
        _ = screen.handle(.refused(clientID: screen.chat.outgoing.first?.clientID ?? "", reason: "No."))
        #expect(screen.editor.isEmpty && text(&screen).contains("Not sent: No."))
    }

    @Test("avatars stand beside messages and conversations, in the colours of now")
    func avatars() {
        var screen = screen()
        _ = screen.handle(
            .catalogue([Fixture.builtIn("fox", "Fox", "#e4572e")].compactMap(BuiltInAvatar.init)))
        _ = screen.handle(.enter)
        func fills() -> Int {
            screen.picture(width: 90, height: 20).rows.flatMap(\.spans).count {
                $0.text == " B " && $0.style.fill == RGB(0xE4, 0x57, 0x2E)
            }
        }
        #expect(fills() == 0)
        let bob = Fixture.person(Fixture.bob, "Bob Brown", username: "bob", version: 2, avatarID: "fox")
        _ = screen.handle(.changes(Fixture.changes(profiles: [bob])))
        // Beside the conversation, and beside each of two messages that are a minute apart.
        #expect(fills() == 3)
    }

    @Test("what is longer than the screen is scrolled, and any other key closes it")
    func panel() {
        var screen = screen()
        _ = screen.picture(width: 80, height: 12)
        _ = type("/me", &screen)
        let top = text(&screen, width: 80, height: 12)
        #expect(top.contains("Alice Ample") && top.contains("↓ more below") && !top.contains(Fixture.alice))
        for _ in 0..<5 { _ = screen.handle(.pageDown) }
        let end = text(&screen, width: 80, height: 12)
        #expect(end.contains(Fixture.alice) && !end.contains("↓ more below"))
        _ = screen.handle(.escape)
        #expect(screen.panel == nil)
    }

    @Test("a long refusal is shown whole")
    func longStatus() {
        var screen = screen()
        let reason = String(repeating: "Seven words that make up a sentence. ", count: 4).trimmed
        _ = screen.handle(.failed(reason))
        for (width, height) in [(80, 24), (64, 12), (20, 6)] {
            let picture = screen.picture(width: width, height: height)
            #expect(picture.rows.count == height && picture.rows.allSatisfy { $0.width == width })
            let shown = picture.rows.map(\.text.trimmed).joined(separator: " ")
            #expect(width < 64 || shown.contains(reason))
        }
    }

    @Test("a guest sees what to do to stay, and an account does not")
    func guest() {
        var screen = ScreenModel(address: "x")
        _ = screen.handle(.changes(Fixture.changes(reset: true, me: Fixture.me(isGuest: true))))
        _ = screen.handle(.link(.online))
        #expect(text(&screen).contains("/upgrade EMAIL") && text(&screen).contains("Alice Ample @alice (guest)"))
        _ = screen.handle(.changes(Fixture.changes(me: Fixture.me(version: 2))))
        #expect(!text(&screen).contains("/upgrade EMAIL") && !text(&screen).contains("(guest)"))
    }

    @Test("a name full of control characters draws nothing but its signs")
    func evilName() {
        var screen = screen()
        _ = screen.handle(
            .changes(Fixture.changes(profiles: [Fixture.person(Fixture.bob, "B\u{1B}]0;x\u{7}ob\n", version: 2)])))
        let drawn = screen.picture(width: 90, height: 20).rows.map { $0.encoded(.monochrome) }.joined()
        let allowed = ["\u{1B}[7m", "\u{1B}[1m", "\u{1B}[2m", "\u{1B}[1;7m", "\u{1B}[0m"]
        let plain = allowed.reduce(drawn) { $0.replacing($1, with: "") }
        #expect(!plain.unicodeScalars.contains { $0.properties.generalCategory == .control })
    }
}
