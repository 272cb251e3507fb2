internal import TerminalText

/// The chat as it stands on the screen: what is chosen, what is typed, how far is scrolled.
///
/// A value without I/O: events and keys go in, effects and a picture come out.
struct ScreenModel: Sendable {
    /// What an arrow key moves.
    enum Focus: Sendable {
        case list
        case input
    }

    private(set) var chat: ChatModel
    private(set) var focus = Focus.list
    private(set) var editor = LineEditor()
    /// What stands over everything until the next key: help, found people.
    private(set) var panel: Panel?
    private(set) var status: StyledLine?
    private(set) var selectedID: String?
    /// Digits typed in the list, for numbers above nine.
    private(set) var digits = ""
    /// The lowest row in view; nil where it is the newest.
    var bottom: MessageRows.ID?
    /// Whether the program has begun to end.
    private(set) var isOver = false

    /// Remembered from the last picture: keys that scroll need them.
    var rowIDs: [MessageRows.ID] = []
    var pageHeight = 10
    var screenWidth = 80
    /// Whether the connection was lost and is not back.
    private(set) var wasLost = false
    /// Too narrow for two columns: the list or the messages, whichever is in use.
    var isNarrow = false
    /// Whether the status is about messages that are not sent, and over once they are.
    private var tellsOfUnsent = false
    /// Whether it was said that leaving now leaves messages unsent.
    private var wasWarned = false
    let address: String

    init(address: String, chat: ChatModel = ChatModel()) {
        self.address = address
        self.chat = chat
    }

    mutating func handle(_ event: ChatEvent) -> [ChatEffect] {
        let effects = take(chat.handle(event))
        if case .delayed = event { tellsOfUnsent = true }
        if tellsOfUnsent, chat.outgoing.isEmpty {
            status = nil
            tellsOfUnsent = false
        }
        return effects
    }

    /// Whether whoever wants to leave may: not at once with messages that would be lost, and then with a word.
    mutating func mayLeave() -> Bool {
        let count = chat.outgoing.count
        guard count > 0, !wasWarned else { return true }
        wasWarned = true
        let what = count == 1 ? "A message is" : "\(count) messages are"
        say("\(what) not sent yet. Leave once more to leave without.", .color(.yellow))
        tellsOfUnsent = true
        return false
    }

    mutating func handle(_ key: Key) -> [ChatEffect] {
        status = nil
        if chat.outgoing.isEmpty { wasWarned = false }
        if panel?.scroll(key, height: pageHeight) == true { return [] }
        if panel != nil {
            panel = nil
            // Escape only closes the panel; any other key does what it does.
            if key == .escape || key == .enter && editor.isEmpty && focus == .input { return [] }
        }
        switch key {
        case .interrupt: return [.quit(saying: nil)]
        case .endOfInput where editor.isEmpty: return [.quit(saying: nil)]
        case .next: return move(by: 1, opening: true)
        case .previous: return move(by: -1, opening: true)
        case .pageUp: return scroll(by: max(1, pageHeight - 2))
        case .pageDown: return scroll(by: -max(1, pageHeight - 2))
        default: break
        }
        return focus == .list ? handleInList(key) : handleInInput(key)
    }

    private mutating func handleInList(_ key: Key) -> [ChatEffect] {
        switch key {
        case .up: return move(by: -1, opening: false)
        case .down: return move(by: 1, opening: false)
        case .enter, .right:
            if !digits.isEmpty { return openNumber() }
            guard let id = selection else { return [] }
            return take(chat.open(id))
        case .tab, .escape:
            digits = ""
            if chat.openID != nil { focus = .input }
            return []
        case .text(let text) where text.allSatisfy({ "0"..."9" ~= $0 }):
            digits += text
            // No longer number can be meant.
            if (Int(digits) ?? 0) * 10 > chat.world.conversations.count { return openNumber() }
            return []
        case .backspace where !digits.isEmpty:
            digits.removeLast()
            return []
        case .text(let text) where text == "q" && chat.openID == nil:
            return [.quit(saying: nil)]
        case .text(let text) where text == "/" || chat.openID != nil:
            focus = .input
            return handleInInput(key)
        case .paste where chat.openID != nil:
            focus = .input
            return handleInInput(key)
        default:
            return []
        }
    }

    private mutating func handleInInput(_ key: Key) -> [ChatEffect] {
        if chat.question != nil { return handleAnswering(key) }
        switch key {
        case .enter:
            guard let command = TypedLine(editor.text) else { return [] }
            if case .text(let text) = command, text.unicodeScalars.count > 8_000 {
                say("A message has at most 8,000 characters; this one has more.", .color(.red))
                return []
            }
            _ = editor.take()
            // Who writes wants to see what is written.
            if case .text = command { bottom = nil }
            return take(chat.perform(command))
        case .escape, .tab:
            focus = .list
            digits = ""
            selectedID = chat.openID ?? selectedID
            return []
        case .up: return scroll(by: 1)
        case .down: return scroll(by: -1)
        default:
            _ = editor.handle(key)
            // A command that was begun without a conversation, and rubbed out, leads back to the list.
            if editor.isEmpty, chat.openID == nil { focus = .list }
            return []
        }
    }

    private mutating func handleAnswering(_ key: Key) -> [ChatEffect] {
        switch key {
        case .enter: return take(chat.answer(editor.take().trimmingLineEnds))
        case .escape, .tab:
            _ = editor.take()
            return take(chat.answer(""))
        default:
            _ = editor.handle(key)
            return []
        }
    }

    private mutating func openNumber() -> [ChatEffect] {
        defer { digits = "" }
        return take(chat.perform(.open(digits)))
    }

    /// Chooses the conversation above or below; with `opening`, opens it.
    private mutating func move(by step: Int, opening: Bool) -> [ChatEffect] {
        let ids = chat.world.ordered.map(\.id)
        guard !ids.isEmpty else { return [] }
        let from = (opening ? chat.openID ?? selection : selection).flatMap { ids.firstIndex(of: $0) }
        let to = from.map { min(max($0 + step, 0), ids.count - 1) } ?? 0
        selectedID = ids[to]
        digits = ""
        return opening ? take(chat.open(ids[to])) : []
    }

    /// Scrolls towards older rows, or back where `rows` is negative. At the top, asks for what is older.
    private mutating func scroll(by rows: Int) -> [ChatEffect] {
        guard chat.openID != nil, !rowIDs.isEmpty else { return [] }
        let newest = rowIDs.count - 1
        let current = bottom.flatMap { rowIDs.firstIndex(of: $0) } ?? newest
        let lowest = min(newest, pageHeight - 1)
        let wanted = current - rows
        let to = min(max(wanted, lowest), newest)
        bottom = to == newest ? nil : rowIDs[to]
        if rows > 0, wanted <= lowest { return take(chat.loadOlder()) }
        return rows < 0 && bottom == nil ? take(chat.sawNewest()) : []
    }

    /// The chosen conversation, the first where none is.
    var selection: String? {
        if let selectedID, chat.world.conversations[selectedID] != nil { return selectedID }
        return chat.world.ordered.first?.id
    }

    private mutating func take(_ outputs: [ChatOutput]) -> [ChatEffect] {
        var effects: [ChatEffect] = []
        for output in outputs {
            switch output {
            case .effect(let effect): effects.append(effect)
            case .notice(let notice): show(notice)
            }
        }
        if chat.openID == nil, focus == .input, editor.isEmpty, chat.question == nil { focus = .list }
        // What stands at the bottom of the open conversation is read.
        if bottom == nil, panel == nil, !(isNarrow && focus == .list) {
            for case .effect(let effect) in chat.sawNewest() { effects.append(effect) }
        }
        return effects
    }

    private mutating func say(_ text: String, _ style: Style) {
        status = StyledLine(" \(text)", style)
        tellsOfUnsent = false
    }

    private mutating func show(_ notice: ChatNotice) {
        switch notice {
        case .opened(let id):
            selectedID = id
            focus = .input
            bottom = nil
        case .conversations:
            focus = .list
        case .failed(let reason):
            say(reason, .color(.red))
        case .info(let text):
            say(text, .dim)
        case .refused(let message, let reason):
            say("Not sent: \(reason)", .color(.red))
            // The text is given back, where that overwrites nothing.
            if editor.isEmpty, chat.question == nil { _ = editor.handle(.paste(message.content)) }
        case .help:
            panel = .help
        case .people(let people, let query):
            guard !people.isEmpty else {
                say("Nobody is found for “\(query)”.", .color(.yellow))
                return
            }
            panel = Panel(people) { person in
                var line = StyledLine("  ")
                line.append(chat.chip(of: person))
                line.append("  ")
                line.append(TextWidth.fit(person.name, to: 28), .bold)
                line.append("/open \(person.username ?? person.name)", .dim)
                return line
            }
        case .members:
            let world = chat.world
            panel = Panel(chat.openID.flatMap { world.conversations[$0] }?.members ?? []) { member in
                var line = StyledLine("  ")
                line.append(chat.chip(of: member.userID))
                line.append("  ")
                line.append(TextWidth.fit(world.name(of: member.userID), to: 28), .bold)
                line.append(TextWidth.fit(world.people[member.userID]?.username ?? "", to: 24))
                line.append(member.role, .dim)
                return line
            }
        case .me:
            panel = chat.world.me.map { Panel($0, chip: chat.chip(of: $0.person), width: screenWidth) }
        case .avatars:
            let mine = chat.world.me?.person.avatar
            panel = Panel(chat.catalogue) { avatar in
                var line = StyledLine("  ")
                line.append(chat.chip(trying: avatar))
                line.append("  ")
                line.append(TextWidth.fit(avatar.name, to: 14), .bold)
                line.append("/avatar \(avatar.id)", .dim)
                if mine == .builtIn(id: avatar.id) { line.append("  yours", .color(.green)) }
                return line
            }
        case .question:
            panel = nil
            focus = .input
            _ = editor.take()
        case .guest:
            // Stands where no conversation is open.
            break
        case .world(.newUsername(let id, let to)):
            let isMine = id == chat.world.myID
            say(
                isMine ? "You are now @\(to)\(chat.usernameCooldown)." : "\(chat.world.name(of: id)) is now @\(to)",
                .dim)
        case .world(.newAvatar(let id)) where id == chat.world.myID:
            say(
                chat.world.people[id]?.avatar == Avatar.none ? "You have no avatar now." : "You have a new avatar.",
                .dim)
        case .world(.left(_, let name)):
            say("You are no longer in “\(name)”.", .color(.yellow))
        case .world(.renamed(_, let from, let to)):
            say("\(from) is now \(to)", .dim)
        case .link(.offline):
            wasLost = true
            status = nil
        case .link(.online):
            if wasLost { say("Connected again.", .color(.green)) }
            wasLost = false
        case .link(.ended):
            isOver = true
        case .link(.connecting), .world, .older:
            break
        }
    }
}
