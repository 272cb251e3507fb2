internal import PostlineClient
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

    var chat: ChatModel
    private(set) var focus = Focus.list
    private(set) var editor = LineEditor()
    /// The message of the user's own that the line changes; nil where it is a new one.
    private(set) var edited: Message?
    /// What stands over everything until the next key: help, found people.
    var panel: Panel?
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
    /// Whether it was said that leaving now leaves messages unsent.
    private var wasWarned = false
    let address: String

    init(address: String, chat: ChatModel = ChatModel()) {
        self.address = address
        self.chat = chat
    }

    mutating func handle(_ event: ChatEvent) -> [ChatEffect] {
        let effects = take(chat.handle(event))
        if wasWarned, chat.shown.waiting == 0 {
            status = nil
            wasWarned = false
        }
        return effects
    }

    /// Whether whoever wants to leave may: not at once with what would be lost, or is on its way; and then with a word.
    mutating func mayLeave() -> Bool {
        guard chat.shown.waiting > 0, !wasWarned, chat.isTemporary || chat.link == .online else { return true }
        wasWarned = true
        say(
            "What you wrote last is not sent yet. Leave once more to leave \(chat.isTemporary ? "without" : "now").",
            .color(.yellow))
        return false
    }

    /// What is said to who has left.
    var farewell: String? {
        guard chat.shown.waiting > 0, !chat.isTemporary else { return nil }
        return "What you wrote last is kept, and sent when you come back."
    }

    mutating func handle(_ key: Key) -> [ChatEffect] {
        status = nil
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
            return open(id)
        case .tab, .escape:
            digits = ""
            if chat.openID != nil { focus = .input }
            return []
        case .text(let text) where text.allSatisfy({ "0"..."9" ~= $0 }):
            digits += text
            // No longer number can be meant.
            if (Int(digits) ?? 0) * 10 > chat.shown.conversations.count { return openNumber() }
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
        if edited != nil, let effects = handleEditing(key) { return effects }
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
            return perform(command)
        case .escape, .tab:
            focus = .list
            digits = ""
            selectedID = chat.openID ?? selectedID
            return []
        case .up where editor.isEmpty && bottom == nil && chat.ownMessages.last != nil:
            edit(chat.ownMessages.last)
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
        return perform(.open(digits))
    }

    /// Chooses the conversation above or below; with `opening`, opens it.
    private mutating func move(by step: Int, opening: Bool) -> [ChatEffect] {
        let ids = chat.shown.conversations.map(\.id)
        guard !ids.isEmpty else { return [] }
        let from = (opening ? chat.openID ?? selection : selection).flatMap { ids.firstIndex(of: $0) }
        let to = from.map { min(max($0 + step, 0), ids.count - 1) } ?? 0
        selectedID = ids[to]
        digits = ""
        return opening ? open(ids[to]) : []
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
        if let selectedID, chat.shown.conversation(selectedID) != nil { return selectedID }
        return chat.shown.conversations.first?.id
    }

    mutating func take(_ outputs: [ChatOutput]) -> [ChatEffect] {
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

    /// Puts a message of the user's own into the line, to be changed; nil: a new one is written again.
    mutating func edit(_ message: Message?) {
        edited = message
        _ = editor.take()
        if let content = message?.content { _ = editor.handle(.paste(content)) }
        if message != nil { focus = .input }
    }

    /// Stands in a conversation that was opened, with what was typed there before.
    mutating func begin(_ id: String) {
        selectedID = id
        focus = .input
        bottom = nil
        edit(nil)
        if let draft = chat.open?.draft { _ = editor.handle(.paste(draft)) }
    }

    mutating func showList() { focus = .list }

    mutating func beginAnswering() {
        panel = nil
        focus = .input
        edit(nil)
    }

    mutating func lost() {
        wasLost = true
        status = nil
    }

    mutating func connected() {
        if wasLost { say("Connected again.", .color(.green)) }
        wasLost = false
    }

    mutating func end() { isOver = true }

    mutating func say(_ text: String, _ style: Style) { status = StyledLine(" \(text)", style) }
}
