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
    private(set) var bottom: MessageRows.ID?
    /// Whether the program has begun to end.
    private(set) var isOver = false

    /// Remembered from the last picture: keys that scroll need them.
    private var rowIDs: [MessageRows.ID] = []
    private var pageHeight = 10
    private var screenWidth = 80
    /// Whether the connection was lost and is not back.
    private var wasLost = false
    /// Too narrow for two columns: the list or the messages, whichever is in use.
    private var isNarrow = false
    /// Whether the status is about messages that are not sent, and over once they are.
    private var tellsOfUnsent = false
    /// Whether it was said that leaving now leaves messages unsent.
    private var wasWarned = false
    private let address: String

    init(address: String, chat: ChatModel = ChatModel()) {
        self.address = address
        self.chat = chat
    }

    // MARK: Events

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
            guard let command = ChatCommand(editor.text) else { return [] }
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
    private var selection: String? {
        if let selectedID, chat.world.conversations[selectedID] != nil { return selectedID }
        return chat.world.ordered.first?.id
    }

    // MARK: What follows

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

    // MARK: The picture

    /// What the screen shows, row by row, and where the cursor stands (counted from 0; nil: hidden).
    struct Picture: Sendable, Equatable {
        var rows: [StyledLine]
        var cursor: (row: Int, column: Int)?

        static func == (left: Picture, right: Picture) -> Bool {
            left.rows == right.rows && left.cursor?.row == right.cursor?.row
                && left.cursor?.column == right.cursor?.column
        }
    }

    /// Draws everything anew for a screen of this size.
    mutating func picture(width: Int, height: Int) -> Picture {
        let width = max(20, width)
        let height = max(6, height)
        let listWidth = width >= 64 ? min(34, width * 2 / 5) : 0
        let foot = foot(width: width, height: height)
        let bodyHeight = height - 3 - foot.count
        pageHeight = bodyHeight
        screenWidth = width
        var rows = [title(width)]
        isNarrow = listWidth == 0
        let showsList = panel == nil && (!isNarrow || focus == .list)
        let showsMessages = !isNarrow || focus == .input
        let list = showsList ? listRows(width: listWidth > 0 ? listWidth : width, height: bodyHeight) : []
        let mainWidth = listWidth > 0 && showsList ? width - listWidth - 1 : width
        let main = showsMessages || panel != nil ? mainRows(width: mainWidth, height: bodyHeight) : []
        for index in 0..<bodyHeight {
            var row = StyledLine()
            if showsList, listWidth > 0 {
                row.append(list[index].fitted(to: listWidth))
                row.append("│", .dim)
                row.append(main[index].fitted(to: mainWidth))
            } else {
                row = (main.isEmpty ? list[index] : main[index]).fitted(to: width)
            }
            rows.append(row)
        }
        rows.append(rule(width, listWidth: showsList ? listWidth : 0))
        let (input, cursor) = inputRow(width)
        rows.append(input)
        rows += foot
        return Picture(rows: rows, cursor: cursor.map { (row: height - 1 - foot.count, column: $0) })
    }

    /// What is said at the bottom, whole where there is room: a refusal may be two sentences.
    private func foot(width: Int, height: Int) -> [StyledLine] {
        guard let status, status.width > width else { return [(status ?? hint).fitted(to: width)] }
        let style = status.spans.first?.style ?? .plain
        return TextWidth.wrap(status.text.trimmed, to: width - 2).prefix(max(1, min(3, height - 5)))
            .map { StyledLine(" \($0)", style).fitted(to: width) }
    }

    private func title(_ width: Int) -> StyledLine {
        var line = StyledLine(" Postline", Style(isBold: true, isInverse: true))
        if let me = chat.world.me {
            line.append("  ", .inverse)
            line.append(chat.chip(of: me.person))
            line.append(" \(chat.world.name(of: me.person.id))", .inverse)
            let username = me.person.username.map { " @\($0)" } ?? ""
            // Who has no name is shown as a guest already.
            let guest = me.isGuest && me.person.fullName != nil ? " (guest)" : ""
            line.append(username + guest, .inverse)
        }
        var sign: String
        switch chat.link {
        case .connecting: sign = "○ connecting to \(address) …"
        case .online: sign = "● \(address)"
        case .offline(_, let wait): sign = "○ offline, trying again in \(wait.tenthsOfSeconds) s"
        case .ended: sign = "○ offline"
        }
        sign = TextWidth.truncate(sign, to: max(0, width - line.width - 3))
        line.append(String(repeating: " ", count: max(1, width - line.width - TextWidth.of(sign) - 1)), .inverse)
        line.append(sign + " ", .inverse)
        return line.fitted(to: width, .inverse)
    }

    private func listRows(width: Int, height: Int) -> [StyledLine] {
        var rows: [StyledLine] = []
        let conversations = chat.world.ordered
        let chosen = selection
        for (index, conversation) in conversations.enumerated() {
            let isChosen = conversation.id == chosen && focus == .list
            let style: Style = isChosen ? .inverse : .plain
            let unread = conversation.id == chat.openID ? 0 : conversation.unreadCount
            var first = StyledLine()
            first.append(conversation.id == chat.openID ? "▌" : " ", .color(.green))
            first.append(TextWidth.fit("\(index + 1)", to: conversations.count > 9 ? 3 : 2), isChosen ? style : .dim)
            let count = unread > 0 ? " \(unread > 99 ? "99+" : String(unread)) " : ""
            let clock = conversation.lastTime.flatMap(WireTime.init)?.clock ?? ""
            let room = width - first.width - TextWidth.of(count) - clock.utf8.count - 2
            var name = style
            name.isBold = unread > 0
            first.append(TextWidth.fit(chat.world.name(ofConversation: conversation.id), to: max(4, room)), name)
            first.append(" \(clock)", isChosen ? style : .dim)
            if unread > 0 { first.append(count, Style(isBold: true, isInverse: true, color: .green)) }
            rows.append(first)
            var second = StyledLine()
            second.append(chat.chip(ofConversation: conversation.id))
            second.append(" ")
            second.append(preview(of: conversation), .dim)
            rows.append(second)
        }
        if conversations.isEmpty {
            rows = [StyledLine(), StyledLine(chat.link == .online ? "  No conversations yet." : "  …", .dim)]
            if chat.link == .online { rows.append(StyledLine("  /open NAME begins one.", .dim)) }
        }
        // The chosen one stays in view.
        let row = (conversations.firstIndex { $0.id == chosen } ?? 0) * 2
        let start = max(0, min(row - height + 2, rows.count - 1))
        let shown = Array(rows.dropFirst(start).prefix(height))
        return shown + Array(repeating: StyledLine(), count: height - shown.count)
    }

    private func preview(of conversation: Conversation) -> String {
        guard let sender = conversation.lastSenderID else { return "" }
        let content = conversation.lastContent ?? "(deleted)"
        if sender == chat.world.myID { return "You: \(content)" }
        return conversation.kind == "group" ? "\(chat.world.name(of: sender)): \(content)" : content
    }

    private mutating func mainRows(width: Int, height: Int) -> [StyledLine] {
        if let panel { return panel.rows(height: height) }
        guard let openID = chat.openID else {
            rowIDs = []
            var rows = Array(repeating: StyledLine(), count: height)
            let texts = emptyTexts
            let start = max(0, (height - texts.count) / 2)
            for (index, text) in texts.enumerated() where start + index < height {
                rows[start + index] = StyledLine("   \(text)", .dim)
            }
            return rows
        }
        let all = MessageRows(chat, width: width - 1).rows
        rowIDs = all.map(\.id)
        if bottom.map({ !rowIDs.contains($0) }) ?? false { bottom = nil }
        var head = StyledLine(" ")
        head.append(chat.world.name(ofConversation: openID), .bold)
        if let conversation = chat.world.conversations[openID], conversation.kind == "group" {
            let names = conversation.members.map {
                $0.userID == chat.world.myID ? "you" : chat.world.name(of: $0.userID)
            }
            head.append("  \(names.joined(separator: ", "))", .dim)
        }
        let room = height - 1
        pageHeight = room
        let last = bottom.flatMap { rowIDs.firstIndex(of: $0) } ?? all.count - 1
        var shown = all[max(0, last + 1 - room)...last].map { row in
            var line = StyledLine(" ")
            line.append(row.line)
            return line
        }
        if bottom != nil, !shown.isEmpty {
            shown[shown.count - 1] = StyledLine("   ↓ newer below", .color(.yellow))
        }
        return [head] + Array(repeating: StyledLine(), count: room - shown.count) + shown
    }

    /// What stands in place of messages.
    private var emptyTexts: [String] {
        let choice = "Choose a conversation with ↑ ↓ and Enter."
        guard chat.world.me?.isGuest == true else {
            return chat.world.conversations.isEmpty ? ["Nobody yet. /open NAME begins one."] : [choice]
        }
        return [
            "You are a guest. When you leave,",
            "nobody can come back to this account.",
            "",
            "/upgrade EMAIL  keeps this account",
            "/login EMAIL    brings it into yours",
            "/name NAME      says who you are",
            "/open NAME      begins a conversation",
        ]
    }

    private func rule(_ width: Int, listWidth: Int) -> StyledLine {
        guard listWidth > 0 else { return StyledLine(String(repeating: "─", count: width), .dim) }
        return StyledLine(
            String(repeating: "─", count: listWidth) + "┴" + String(repeating: "─", count: width - listWidth - 1), .dim)
    }

    private func inputRow(_ width: Int) -> (StyledLine, cursor: Int?) {
        if let question = chat.question {
            var line = StyledLine(" \(question.label): ", .color(.yellow, bold: true))
            let room = max(4, width - line.width - 1)
            let shown = question.isSecret ? editor.masked(width: room) : editor.window(width: room)
            line.append(shown.text)
            return (line.fitted(to: width), min(width - 1, line.width - TextWidth.of(shown.text) + shown.cursor))
        }
        if focus == .list, !digits.isEmpty { return (StyledLine(" open number \(digits)").fitted(to: width), nil) }
        var line = StyledLine(" › ", focus == .input ? .color(.green, bold: true) : .dim)
        let window = editor.window(width: width - 4)
        line.append(window.text, focus == .input ? .plain : .dim)
        return (line.fitted(to: width), focus == .input ? 3 + window.cursor : nil)
    }

    private var hint: StyledLine {
        if wasLost { return lossHint }
        if chat.question != nil { return StyledLine(" Enter goes on · Esc gives up", .dim) }
        return switch focus {
        case .list: StyledLine(" ↑↓ choose · Enter or number opens · / command · /help · q leaves", .dim)
        case .input: StyledLine(" Enter sends · Tab list · ↑↓ PgUp PgDn scroll · /help", .dim)
        }
    }

    /// Stays until the connection is back.
    private var lossHint: StyledLine {
        var line = StyledLine(" The server is away.", .color(.yellow, bold: true))
        line.append(" What you write is kept and sent when it is back.", .color(.yellow))
        if case .offline(let reason, _) = chat.link { line.append("  (\(reason))", .dim) }
        return line
    }
}
