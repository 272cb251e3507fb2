import Foundations
import Postline

/// The state of the chat on the screen: the chosen conversation, the text being typed, the scroll position.
///
/// A value without I/O: events and keys go in, effects and a frame come out. Letters always go to the input line.
struct ScreenModel: Sendable {
    var chat: ChatModel
    /// True after Tab: the arrow keys and Enter choose a conversation although one is open.
    var isInList = false
    var editor = LineEditor()
    /// Text that was entered while no conversation was open. It goes to the input line of the next one that is opened.
    private(set) var unaddressed = ""
    /// The completion whose candidates are shown.
    var completion: Completion?
    /// The user's message that the input line edits, or nil for a new message.
    private(set) var edited: Message?
    /// Rows shown over the conversations until the next key, such as the help.
    var panel: Panel?
    private(set) var status: StyledLine?
    private(set) var selectedID: Conversation.ID?
    /// The lowest row in view, or nil for the newest.
    var bottom: MessageRows.ID?
    /// True once the program has begun to end.
    private(set) var isOver = false

    /// Values of the last frame that keys for scrolling need.
    var rowIDs: [MessageRows.ID] = []
    var pageHeight = 10
    var screenWidth = 80
    /// The first row of the input line that is in view.
    var inputTop = 0
    var inputWidth: Int { screenWidth - 4 }
    /// True from the loss of the connection until it is back.
    private(set) var wasLost = false
    /// True if the screen is too narrow for two columns and shows either the list or the messages.
    var isNarrow = false
    /// True once the user was warned that leaving now leaves messages unsent.
    private var wasWarned = false
    let address: String

    init(address: String, chat: ChatModel = ChatModel()) {
        self.address = address
        self.chat = chat
    }

    mutating func handle(_ event: ChatEvent) -> [ChatEffect] {
        let effects = change { $0.handle(event) }
        if wasWarned, chat.shown.waiting == 0 {
            status = nil
            wasWarned = false
        }
        return effects
    }

    /// Returns true if the user may leave. It warns first if messages are unsent or would be lost.
    mutating func mayLeave() -> Bool {
        guard chat.shown.waiting > 0, !wasWarned, chat.isTemporary || chat.link == .online else { return true }
        wasWarned = true
        say(
            "What you wrote last is not sent yet. Leave once more to leave \(chat.isTemporary ? "without" : "now").",
            .color(.yellow))
        return false
    }

    /// The farewell after leaving.
    var farewell: String? {
        guard chat.shown.waiting > 0, !chat.isTemporary else { return nil }
        return "What you wrote last is kept, and sent when you come back."
    }

    mutating func handle(_ key: Key) -> [ChatEffect] {
        status = nil
        if panel?.scroll(key, height: pageHeight) == true { return [] }
        if panel != nil {
            panel = nil
            // Escape, and Enter in an empty line, only close the panel; any other key also does what it always does.
            if key == .escape || key == .enter && editor.isEmpty { return [] }
        }
        if key == .tab || key == .backTab, chat.question == nil, !isInList, complete(by: key == .tab ? 1 : -1) {
            return []
        }
        if completion != nil {
            endCompletion(undoing: key == .escape)
            if key == .escape { return [] }
        }
        switch key {
        case .interrupt: return [.quit(saying: nil)]
        case .next: return move(by: 1, opening: true)
        case .previous: return move(by: -1, opening: true)
        case .pageUp: return isChoosing ? move(by: -pageHeight / 2) : scroll(by: max(1, pageHeight - 2))
        case .pageDown: return isChoosing ? move(by: pageHeight / 2) : scroll(by: -max(1, pageHeight - 2))
        default: break
        }
        if chat.question != nil { return handleAnswering(key) }
        if !isInList, key == .up || key == .down, editor.moveRow(by: key == .up ? -1 : 1, width: inputWidth) {
            return []
        }
        if edited != nil, let effects = handleEditing(key) { return effects }
        if isChoosing, let effects = handleChoosing(key) { return effects }
        return handleInInput(key)
    }

    /// True if the arrow keys choose a conversation: after Tab, and while no conversation is open.
    var isChoosing: Bool { isInList || chat.openID == nil }

    /// Handles the keys of the list. Returns nil for a key that belongs to the input line.
    private mutating func handleChoosing(_ key: Key) -> [ChatEffect]? {
        switch key {
        case .up: return move(by: -1)
        case .down: return move(by: 1)
        case .enter where isInList || editor.isEmpty: return selection.map { open($0) } ?? []
        case .right where editor.isEmpty: return selection.map { open($0) } ?? []
        case .tab, .backTab, .escape:
            isInList = !isInList && chat.openID != nil
            return []
        default:
            isInList = false
            return nil
        }
    }

    private mutating func handleInInput(_ key: Key) -> [ChatEffect] {
        switch key {
        case .enter:
            guard let command = TypedLine(editor.text) else { return [] }
            if case .text(let text) = command, text.unicodeScalars.count > 8_000 {
                say("A message has at most 8,000 characters; this one has more.", .color(.red))
                return []
            }
            if command.writesMessage, let reason = chat.blockedReason {
                say(reason, .color(.red))
                return []
            }
            let line = editor.take()
            guard case .text = command else { return perform(command) }
            guard chat.openID != nil else {
                unaddressed += unaddressed.isEmpty ? line : "\n\(line)"
                return []
            }
            // A user who sends a message wants to see it.
            bottom = nil
            return perform(command)
        case .escape, .tab, .backTab:
            isInList = true
            selectedID = chat.openID ?? selectedID
            return []
        case .number(let number): return perform(.open("\(number)"))
        case .up where editor.isEmpty && bottom == nil && chat.ownMessages.last != nil:
            edit(chat.ownMessages.last)
            return []
        case .up: return scroll(by: 1)
        case .down: return scroll(by: -1)
        default:
            _ = editor.handle(key)
            return []
        }
    }

    private mutating func handleAnswering(_ key: Key) -> [ChatEffect] {
        switch key {
        case .enter: return take(chat.answer(editor.take().trimmingLineEnds))
        case .escape, .tab, .backTab:
            _ = editor.take()
            return take(chat.answer(""))
        default:
            _ = editor.handle(key)
            return []
        }
    }

    /// Chooses another conversation of the list, and with `opening` opens it.
    private mutating func move(by step: Int, opening: Bool = false) -> [ChatEffect] {
        let ids = chat.shown.conversations.map(\.id)
        guard !ids.isEmpty else { return [] }
        let from = (opening ? chat.openID ?? selection : selection).flatMap { ids.firstIndex(of: $0) }
        let to = from.map { min(max($0 + step, 0), ids.count - 1) } ?? 0
        selectedID = ids[to]
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

    /// The selected conversation, or the first.
    var selection: Conversation.ID? {
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
        // The newest message of the open conversation is marked as read while it is in view.
        if bottom == nil, panel == nil, !(isNarrow && isChoosing) {
            for case .effect(let effect) in chat.sawNewest() { effects.append(effect) }
        }
        return effects
    }

    /// Puts one of the user's messages into the input line to edit it; nil returns to writing a new message.
    mutating func edit(_ message: Message?) {
        edited = message
        _ = editor.take()
        if let content = message?.content { _ = editor.handle(.paste(content)) }
        if message != nil { isInList = false }
    }

    /// Moves to a conversation that was opened. Its draft is in the input line, and behind it the unaddressed text and
    /// what was typed while it loaded.
    mutating func begin(_ id: Conversation.ID) {
        selectedID = id
        isInList = false
        bottom = nil
        let typed = edited == nil ? editor.text : ""
        edit(nil)
        let texts = [chat.open?.draft ?? "", unaddressed, typed].filter { !$0.isEmpty }
        _ = editor.handle(.paste(texts.joined(separator: "\n")))
        unaddressed = ""
    }

    mutating func showList() { isInList = chat.openID != nil }

    mutating func beginAnswering() {
        panel = nil
        isInList = false
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
