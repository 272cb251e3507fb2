import Foundations
import TestSupport
import Testing

@testable import Chat
@testable import Postline

@Suite("Chat screen")
struct ScreenTests {
    private func screen(_ scene: Scene = Scene()) -> ScreenModel {
        var screen = ScreenModel(address: "127.0.0.1:7432")
        _ = screen.handle(.shows(scene.shown))
        return screen
    }

    private func text(_ screen: inout ScreenModel, width: Int = 90, height: Int = 20) -> String {
        screen.frame(width: width, height: height).rows.map(\.text).joined(separator: "\n")
    }

    @Test("fills exactly the size of the terminal")
    func size() {
        for (width, height) in [(90, 20), (64, 6), (40, 12), (20, 6), (200, 60)] {
            var screen = screen()
            for keys in [[], [Key.enter], [.text("/"), .text("h"), .text("日本語")]] as [[Key]] {
                for key in keys { _ = screen.handle(key) }
                let frame = screen.frame(width: width, height: height)
                #expect(frame.rows.count == height)
                #expect(frame.rows.allSatisfy { $0.width <= width })
                if let cursor = frame.cursor { #expect(cursor.row < height && cursor.column < width) }
            }
        }
    }

    @Test("lists names, unread counts and last texts; Enter opens and marks as read")
    func list() {
        var screen = screen()
        let before = text(&screen)
        #expect(before.contains("Bob Brown") && before.contains(" 2 ") && before.contains("two"))
        #expect(screen.handle(.enter) == [.markRead(conversationID: Fixture.direct, seq: 2)])
        #expect(text(&screen).contains("one"))
    }

    @Test("shows the complete help on 80 columns")
    func help() {
        let groups = Help.commands + [Help.keys]
        #expect(groups.map(\.title) == ["Conversations", "Messages", "Profile", "Account", "Keys"])
        for row in groups.flatMap(\.rows) {
            #expect(TextWidth.of(row.usage) < Help.usageWidth, "\(row.usage)")
            #expect(2 + Help.usageWidth + TextWidth.of(row.meaning) <= 80, "\(row.meaning)")
        }
        var screen = screen()
        _ = type("/help", &screen)
        let shown = text(&screen, width: 80, height: 70)
        for title in groups.map(\.title) { #expect(shown.contains(" \(title) ")) }
        #expect(shown.contains("  /quit                   leave the chat; you stay signed in"))
        let lines = LineFormat(showsAvatars: false).lines(.help, screen.chat).map(\.text)
        #expect(lines.first == "* Conversations" && lines.allSatisfy { TextWidth.of($0) <= 80 })
    }

    @Test("shows presence, typing and muting in the list and the header")
    func presence() {
        var scene = Scene()
        scene.change { $0.presence = [Fixture.bob: Presence(isOnline: true)] }
        var screen = screen(scene)
        #expect(text(&screen).contains("●two"))
        _ = screen.handle(.enter)
        #expect(text(&screen).contains("Bob Brown  ● online"))
        scene.typing = [Fixture.direct: [Fixture.bob]]
        _ = screen.handle(.shows(scene.shown))
        let typed = text(&screen)
        #expect(typed.contains("Bob Brown  is typing …") && typed.ranges(of: "is typing …").count == 2)
        scene.typing = [:]
        scene.change {
            $0.presence = [Fixture.bob: Presence(isOnline: false, lastSeenAt: Fixture.time(0))]
            $0.mutedUntil = Fixture.future
        }
        _ = screen.handle(.shows(scene.shown))
        #expect(text(&screen).contains("Bob Brown  muted  last seen on "))
    }

    @Test("parses /mute, /unmute, /hide and /show, and shows the usage of /mute")
    func quiet() {
        #expect(TypedLine("/mute") == .mute(minutes: nil))
        #expect(TypedLine("/mute 8h") == .mute(minutes: 480))
        #expect(TypedLine("/mute 2D") == .mute(minutes: 2_880))
        for wrong in ["/mute long", "/mute 0m", "/mute -1h", "/mute h"] {
            #expect(TypedLine(wrong) == .incomplete(usage: "/mute, or /mute 30m, 8h or 2d"), "\(wrong)")
        }
        #expect(TypedLine("/unmute") == .unmute)
        #expect(TypedLine("/expire 7d") == .expire(minutes: 10_080))
        #expect(TypedLine("/expire never") == .expire(minutes: nil))
        for wrong in ["/expire", "/expire soon", "/expire 0m"] {
            #expect(TypedLine(wrong) == .incomplete(usage: "/expire 30m, 8h or 7d, or /expire never"), "\(wrong)")
        }
        #expect(TypedLine("/hide") == .hide(true))
        #expect(TypedLine("/show") == .hide(false))
    }

    @Test("types letters and digits into the input from the start")
    func lettersAreText() {
        var screen = screen()
        #expect(screen.frame(width: 90, height: 20).cursor != nil)
        for character in "quick 1 question" { #expect(screen.handle(.text(String(character))).isEmpty) }
        #expect(screen.editor.text == "quick 1 question" && screen.chat.openID == nil)
    }

    @Test("keeps text typed without an open conversation for the next one")
    func unaddressed() {
        var scene = Scene()
        scene.add(Fixture.group, title: "Alps", members: [Fixture.alice, Fixture.carol])
        scene.change(Fixture.group) { $0.draft = "Draft" }
        var screen = screen(scene)
        #expect(type("quick question", &screen).isEmpty)
        let shown = text(&screen)
        #expect(shown.contains("No conversation is open: choose one with ↑↓ and Enter, or /open NAME."))
        #expect(shown.contains("quick question") && screen.editor.isEmpty)
        _ = screen.handle(.down)
        _ = screen.handle(.enter)
        #expect(screen.chat.openID == Fixture.group && screen.editor.text == "Draft\nquick question")
        #expect(
            screen.handle(.enter).contains(.send(conversationID: Fixture.group, content: "Draft\nquick question")))
    }

    @Test("keeps text typed while a conversation loads, behind its draft")
    func typedWhileLoading() {
        var scene = Scene()
        scene.change { $0.draft = "Draft" }
        let messages = scene.messages.removeValue(forKey: Fixture.direct)
        var screen = screen(scene)
        _ = screen.handle(.enter)
        write("typed", &screen)
        #expect(screen.chat.openID == Fixture.direct && !screen.isDraftDue)
        scene.messages[Fixture.direct] = messages
        _ = screen.handle(.shows(scene.shown))
        #expect(screen.editor.text == "Draft\ntyped")
    }

    @Test("keeps text as the draft of the conversation it was typed in when another opens later")
    func typedBeforeOpening() {
        var scene = Scene()
        scene.add(Fixture.group, title: "Alps", members: [Fixture.alice, Fixture.carol])
        var screen = screen(scene)
        _ = screen.handle(.enter)
        write("typed", &screen)
        let effects = screen.handle(.opened(conversationID: Fixture.group))
        #expect(effects.contains(.draft(conversationID: Fixture.direct, content: "typed")))
        #expect(screen.chat.openID == Fixture.group && screen.editor.isEmpty)
    }

    @Test("navigates the list by keys while letters go to the input")
    func listKeys() {
        var scene = Scene()
        scene.add(Fixture.group, title: "Alps", members: [Fixture.alice, Fixture.carol])
        var screen = screen(scene)
        _ = screen.handle(.pageDown)
        #expect(screen.selection == Fixture.group)
        _ = screen.handle(.up)
        _ = screen.handle(.right)
        #expect(screen.chat.openID == Fixture.direct)
        for key in [Key.text("h"), .text("i"), .tab, .down] { _ = screen.handle(key) }
        #expect(screen.isChoosing && screen.selection == Fixture.group)
        _ = screen.handle(.text("!"))
        #expect(screen.editor.text == "hi!" && !screen.isChoosing)
        for key in [Key.backTab, .up, .enter] { _ = screen.handle(key) }
        #expect(screen.editor.text == "hi!" && screen.chat.openID == Fixture.direct)
        #expect(screen.handle(.number(2)).contains(.draft(conversationID: Fixture.direct, content: "hi!")))
        #expect(screen.chat.openID == Fixture.group)
    }

    @Test("quits only by Ctrl-C and /quit")
    func leaving() {
        var screen = screen()
        for key in [Key.text("q"), .enter, .delete, .escape] { #expect(screen.handle(key).isEmpty) }
        #expect(screen.handle(.interrupt) == [.quit(saying: nil)])
        #expect(type("/quit", &screen) == [.quit(saying: nil)])
    }

    @Test("grows the input to five rows, scrolls it, and sends line breaks")
    func composer() {
        var screen = screen()
        _ = screen.handle(.enter)
        for key in [Key.text("1"), .newLine, .text("2"), .newLine, .paste("3\n4\n5\n6\n7")] { _ = screen.handle(key) }
        func input() -> [String] {
            screen.frame(width: 90, height: 20).rows.suffix(6).dropLast().map(\.text.trimmed)
        }
        #expect(input() == ["↑ 3", "4", "5", "6", "7"])
        for _ in 0..<5 { #expect(screen.handle(.up).isEmpty) }
        #expect(input() == ["↑ 2", "3", "4", "5", "↓ 6"])
        #expect(screen.frame(width: 90, height: 20).cursor?.row == 14)
        _ = screen.handle(.up)
        #expect(input() == ["› 1", "2", "3", "4", "↓ 5"])
        for (width, height) in [(90, 20), (64, 6), (40, 7), (20, 8)] {
            let frame = screen.frame(width: width, height: height)
            #expect(frame.rows.count == height && frame.rows.allSatisfy { $0.width == width })
            #expect(frame.cursor.map { $0.row < height - 1 && $0.column < width } == true)
        }
        #expect(
            screen.handle(.enter) == [.send(conversationID: Fixture.direct, content: "1\n2\n3\n4\n5\n6\n7")])
        #expect(input().last == "›")
    }

    @Test("discards a refused profile change and shows its error")
    func refusedProfile() {
        var scene = Scene()
        var screen = screen(scene)
        scene.refused = [Fixture.refusal(1, .profile)]
        #expect(screen.handle(.shows(scene.shown)) == [.discard([1])])
        let shown = text(&screen)
        #expect(shown.contains(" No.") && !shown.contains("refused") && !shown.contains("/discard"))
    }

    @Test("shows a changed name at once in messages, list and header", .covers("B43"))
    func rename() {
        var scene = Scene()
        var screen = screen(scene)
        _ = screen.handle(.enter)
        #expect(text(&screen).contains("Bob Brown"))
        scene.users[Fixture.bob] = Fixture.person(Fixture.bob, "Robert")
        _ = screen.handle(.shows(scene.shown))
        _ = screen.handle(.tab)
        let after = text(&screen)
        #expect(after.contains("Robert") && !after.contains("Bob Brown"))
    }

    @Test("sends text with Enter and marks it as pending, sent and read")
    func send() {
        var scene = Scene()
        var screen = screen(scene)
        _ = screen.handle(.enter)
        #expect(type("hello you", &screen) == [.send(conversationID: Fixture.direct, content: "hello you")])
        let waiting = Fixture.message(nil, "hello you", from: Fixture.alice, delivery: .queued(change: 1))
        scene.messages[Fixture.direct]?.append(waiting)
        _ = screen.handle(.shows(scene.shown))
        #expect(text(&screen).contains("…"))
        scene.messages[Fixture.direct]?.removeLast()
        scene.say("hello you", from: Fixture.alice)
        _ = screen.handle(.shows(scene.shown))
        #expect(text(&screen).contains("✓") && !text(&screen).contains("✓✓"))
        scene.messages[Fixture.direct]?[2].isRead = true
        _ = screen.handle(.shows(scene.shown))
        #expect(text(&screen).contains("✓✓"))
    }

    @Test("keeps the scroll position and read mark when a message arrives")
    func scroll() {
        var scene = Scene()
        for number in 3...40 { scene.say("text \(number)") }
        var screen = screen(scene)
        _ = screen.handle(.enter)
        scene.change { $0.lastReadSeq = 40 }
        _ = screen.handle(.shows(scene.shown))
        _ = screen.frame(width: 80, height: 16)
        _ = screen.handle(.pageUp)
        let before = text(&screen, width: 80, height: 16)
        #expect(!before.contains("text 39"))
        scene.say("text 41")
        let effects = screen.handle(.shows(scene.shown))
        #expect(effects.isEmpty)
        let after = text(&screen, width: 80, height: 16)
        #expect(
            after.split(separator: "\n").dropFirst(6).dropLast(3).map { $0.dropFirst(34) }
                == before.split(separator: "\n").dropFirst(6).dropLast(3).map { $0.dropFirst(34) })
        _ = screen.handle(.pageDown)
        #expect(screen.handle(.pageDown) == [.markRead(conversationID: Fixture.direct, seq: 41)])
        #expect(text(&screen, width: 80, height: 16).contains("41  B  Bob Brown"))
    }

    @Test("reports when the connection is lost and restored")
    func link() {
        var scene = Scene()
        var screen = screen(scene)
        scene.state = .offline(since: Fixture.time(0))
        _ = screen.handle(.shows(scene.shown))
        #expect(text(&screen, width: 120).contains("The server is away. What you write is kept"))
        scene.state = .connecting
        scene.waiting = 2
        _ = screen.handle(.shows(scene.shown))
        let away = text(&screen, width: 120)
        #expect(away.contains("The server is away.") && away.contains("2 waiting  ○ offline"))
        scene.state = .live
        scene.waiting = 0
        _ = screen.handle(.shows(scene.shown))
        let back = text(&screen)
        #expect(back.contains("● 127.0.0.1:7432") && back.contains("Connected again."))
    }

    @Test("asks once before quitting with unsent messages, but not while offline")
    func unsent() {
        var scene = Scene()
        scene.waiting = 1
        var screen = screen(scene)
        #expect(type("/quit", &screen) == [.quit(saying: nil)])
        let mayQuitFirst = screen.mayLeave()
        #expect(!mayQuitFirst)
        #expect(
            text(&screen, width: 120).contains("What you wrote last is not sent yet. Leave once more to leave now."))
        #expect(screen.handle(.interrupt) == [.quit(saying: nil)])
        let mayQuitAgain = screen.mayLeave()
        #expect(mayQuitAgain)
        scene.waiting = 0
        _ = screen.handle(.shows(scene.shown))
        #expect(screen.farewell == nil)
        scene.waiting = 1
        scene.state = .offline(since: Fixture.time(0))
        _ = screen.handle(.shows(scene.shown))
        let mayQuitOffline = screen.mayLeave()
        #expect(mayQuitOffline && screen.farewell == "What you wrote last is kept, and sent when you come back.")
    }

    private func write(_ text: String, _ screen: inout ScreenModel) {
        for character in text { _ = screen.handle(.text(String(character))) }
    }

    /// Types a line and Enter, and returns the effects of Enter.
    private func type(_ text: String, _ screen: inout ScreenModel) -> [ChatEffect] {
        write(text, &screen)
        return screen.handle(.enter)
    }

    @Test("masks a password at its prompt; Escape cancels")
    func password() {
        var screen = screen()
        #expect(type("/password", &screen).isEmpty)
        #expect(text(&screen).contains("Your password: "))
        write("secret", &screen)
        let asked = text(&screen)
        #expect(asked.contains("Your password: ••••••") && !asked.contains("secret"))
        _ = screen.handle(.escape)
        #expect(screen.chat.question == nil && text(&screen).contains("Nothing was changed."))
        for line in ["/password", "old", "secret"] { #expect(type(line, &screen).isEmpty) }
        #expect(type("secret", &screen) == [.account(.changePassword(from: "old", to: "secret"))])
        #expect(screen.editor.isEmpty && !text(&screen).contains("•"))
    }

    @Test("shows a refusal without affecting the password prompt")
    func refusedMeanwhile() {
        var scene = Scene()
        var screen = screen(scene)
        _ = screen.handle(.enter)
        _ = type("/password", &screen)
        scene.refused = [Fixture.refusal(1)]
        _ = screen.handle(.shows(scene.shown))
        let shown = text(&screen, width: 120)
        #expect(screen.editor.isEmpty && shown.contains("Not sent (No.): hello · /retry 1 or /discard 1"))
        #expect(shown.contains("1 refused"))
    }

    @Test("shows a refused message in its conversation with the error")
    func refusedInSight() {
        var scene = Scene()
        let error = PostlineError(.forbidden, "Not here.")
        scene.messages[Fixture.direct]?
            .append(Fixture.message(nil, "hello", from: Fixture.alice, delivery: .refused(error, change: 1)))
        var screen = screen(scene)
        _ = screen.handle(.enter)
        let shown = text(&screen)
        #expect(shown.contains("✗") && shown.contains("! Not here."))
    }

    @Test("keeps a draft of each conversation across restarts")
    func drafts() {
        var scene = Scene()
        scene.add(Fixture.group, title: "Alps", members: [Fixture.alice, Fixture.carol])
        var screen = screen(scene)
        _ = screen.handle(.enter)
        write("Dear B", &screen)
        #expect(screen.isDraftDue)
        let effects = screen.handle(.next)
        #expect(effects.first == .draft(conversationID: Fixture.direct, content: "Dear B"))
        #expect(screen.editor.isEmpty && screen.chat.openID == Fixture.group)
        scene.change { $0.draft = "Dear B" }
        _ = screen.handle(.shows(scene.shown))
        #expect(text(&screen).contains("Draft: Dear B"))
        _ = screen.handle(.previous)
        #expect(screen.editor.text == "Dear B" && !screen.isDraftDue)

        var restarted = self.screen(scene)
        _ = restarted.handle(.enter)
        #expect(restarted.editor.text == "Dear B")
        _ = restarted.handle(.deleteToStart)
        #expect(restarted.keepDraft() == [.draft(conversationID: Fixture.direct, content: "")])
        write("/he", &restarted)
        #expect(restarted.draft == "")
    }

    @Test("edits the user's last messages by the Up key, and deletes an emptied one")
    func editing() throws {
        var scene = Scene()
        scene.say("mine", from: Fixture.alice)
        scene.say("mine too", from: Fixture.alice)
        var screen = screen(scene)
        _ = screen.handle(.enter)
        let own = screen.chat.ownMessages
        _ = screen.handle(.up)
        #expect(screen.editor.text == "mine too" && screen.draft == "")
        #expect(text(&screen).contains(" ✎ mine too"))
        _ = screen.handle(.up)
        #expect(screen.editor.text == "mine")
        #expect(type(", better", &screen) == [.edit(own[0], content: "mine, better")])
        #expect(screen.edited == nil && screen.editor.isEmpty)
        _ = screen.handle(.up)
        _ = screen.handle(.escape)
        #expect(screen.edited == nil && screen.editor.isEmpty)
        _ = screen.handle(.up)
        _ = screen.handle(.deleteToStart)
        #expect(screen.handle(.enter) == [.delete(own[1])])
        #expect(type("/edit #3", &screen).isEmpty)
        #expect(screen.edited == own[0])
    }

    @Test("shows current avatar colors beside messages and conversations")
    func avatars() {
        var scene = Scene()
        var screen = screen(scene)
        _ = screen.handle(
            .catalogue([BuiltInAvatar(id: "fox", name: "Fox", color: "#e4572e")]))
        _ = screen.handle(.enter)
        func fills() -> Int {
            screen.frame(width: 90, height: 20).rows.flatMap(\.spans).count {
                $0.text == " B " && $0.style.fill == RGB(0xE4, 0x57, 0x2E)
            }
        }
        #expect(fills() == 0)
        scene.users[Fixture.bob] = Fixture.person(avatarID: "fox")
        _ = screen.handle(.shows(scene.shown))
        // One beside the conversation, and one beside each of two messages that are a minute apart.
        #expect(fills() == 3)
    }

    @Test("scrolls a panel longer than the screen, and closes it on other keys")
    func panel() {
        var screen = screen()
        _ = screen.frame(width: 80, height: 12)
        _ = type("/me", &screen)
        let top = text(&screen, width: 80, height: 12)
        #expect(top.contains("Alice Ample") && top.contains("↓ more below") && !top.contains(Fixture.alice.rawValue))
        for _ in 0..<5 { _ = screen.handle(.pageDown) }
        let end = text(&screen, width: 80, height: 12)
        #expect(end.contains(Fixture.alice.rawValue) && !end.contains("↓ more below"))
        _ = screen.handle(.escape)
        #expect(screen.panel == nil)
    }

    @Test("shows a long error completely")
    func longStatus() {
        var screen = screen()
        let reason = String(repeating: "Seven words that make up a sentence. ", count: 4).trimmed
        _ = screen.handle(.failed(reason))
        for (width, height) in [(80, 24), (64, 12), (20, 6)] {
            let frame = screen.frame(width: width, height: height)
            #expect(frame.rows.count == height && frame.rows.allSatisfy { $0.width == width })
            let shown = frame.rows.map(\.text.trimmed).joined(separator: " ")
            #expect(width < 64 || shown.contains(reason))
        }
    }

    @Test("shows the upgrade command to guests only")
    func guest() {
        var scene = Scene(of: Fixture.me(isGuest: true))
        var screen = screen(scene)
        #expect(text(&screen).contains("/upgrade EMAIL") && text(&screen).contains("Alice Ample @alice (guest)"))
        scene.me = Fixture.me()
        _ = screen.handle(.shows(scene.shown))
        #expect(!text(&screen).contains("/upgrade EMAIL") && !text(&screen).contains("(guest)"))
    }

    @Test("draws no control characters of a name")
    func controlCharacters() {
        var scene = Scene()
        scene.users[Fixture.bob] = Fixture.person(Fixture.bob, "B\u{1B}]0;x\u{7}ob\n")
        var screen = screen(scene)
        let drawn = screen.frame(width: 90, height: 20).rows.map { $0.encoded(.monochrome) }.joined()
        let allowed = ["\u{1B}[7m", "\u{1B}[1m", "\u{1B}[2m", "\u{1B}[1;7m", "\u{1B}[0m"]
        let plain = allowed.reduce(drawn) { $0.replacing($1, with: "") }
        #expect(!plain.unicodeScalars.contains { $0.properties.generalCategory == .control })
    }
}
