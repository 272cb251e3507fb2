import Foundation
import Foundations
import Postline

/// Draws the model for a screen's size.
extension ScreenModel {
    /// The rows of the screen, and the position of the cursor (from 0; nil if hidden).
    struct Frame: Sendable, Equatable {
        var rows: [StyledLine]
        var cursor: (row: Int, column: Int)?

        static func == (left: Frame, right: Frame) -> Bool {
            left.rows == right.rows && left.cursor?.row == right.cursor?.row
                && left.cursor?.column == right.cursor?.column
        }
    }

    /// Draws all rows for a screen of this size.
    mutating func frame(width: Int, height: Int) -> Frame {
        let width = max(20, width)
        let height = max(6, height)
        let listWidth = width >= 64 ? min(34, width * 2 / 5) : 0
        let foot = foot(width: width, height: height)
        screenWidth = width
        let (input, cursor) = inputRows(atMost: max(1, min(5, height - 4 - foot.count)))
        let bodyHeight = height - 2 - input.count - foot.count
        pageHeight = bodyHeight
        var rows = [title(width)]
        isNarrow = listWidth == 0
        let showsList = panel == nil && (!isNarrow || isChoosing)
        let showsMessages = !isNarrow || !isChoosing
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
        rows += input + foot
        return Frame(
            rows: rows, cursor: (row: height - foot.count - input.count + cursor.row, column: cursor.column))
    }

    /// Returns the rows at the bottom: candidates, a status of up to three rows, or a hint.
    private func foot(width: Int, height: Int) -> [StyledLine] {
        if let completion { return [completion.row(width: width)] }
        guard let status, status.width > width else { return [(status ?? hint).fitted(to: width)] }
        let style = status.spans.first?.style ?? .plain
        return TextWidth.wrap(status.text.trimmed, to: width - 2).prefix(max(1, min(3, height - 5)))
            .map { StyledLine(" \($0)", style).fitted(to: width) }
    }

    private func title(_ width: Int) -> StyledLine {
        var line = StyledLine(" Postline", Style(isBold: true, isInverse: true))
        if let me = chat.shown.me {
            line.append("  ", .inverse)
            line.append(chat.chip(of: me.profile))
            line.append(" \(me.profile.shownName)", .inverse)
            let username = me.username.map { " @\($0)" } ?? ""
            // A guest without a name is already shown as such.
            let guest = me.isGuest && me.fullName != nil ? " (guest)" : ""
            line.append(username + guest, .inverse)
        }
        var sign: String
        switch chat.link {
        case .connecting: sign = "○ connecting to \(address) …"
        case .online: sign = "● \(address)"
        case .offline, .ended: sign = "○ offline"
        }
        if chat.shown.waiting > 0, chat.link != .online { sign = "\(chat.shown.waiting) waiting  \(sign)" }
        // Other refused changes are dropped.
        let refused = chat.shown.refused.count { $0.kind == .message }
        if refused > 0 { sign = "\(refused) refused  \(sign)" }
        sign = TextWidth.truncate(sign, to: max(0, width - line.width - 3))
        line.append(String(repeating: " ", count: max(1, width - line.width - TextWidth.of(sign) - 1)), .inverse)
        line.append(sign + " ", .inverse)
        return line.fitted(to: width, .inverse)
    }

    private func listRows(width: Int, height: Int) -> [StyledLine] {
        var rows: [StyledLine] = []
        let conversations = chat.shown.conversations
        let chosen = selection
        for (index, conversation) in conversations.enumerated() {
            let isChosen = conversation.id == chosen && isChoosing
            let style: Style = isChosen ? .inverse : .plain
            let unread = conversation.id == chat.openID ? 0 : conversation.unreadCount
            var first = StyledLine()
            first.append(conversation.id == chat.openID ? "▌" : " ", .color(.green))
            first.append(TextWidth.fit("\(index + 1)", to: conversations.count > 9 ? 3 : 2), isChosen ? style : .dim)
            let mention = conversation.unreadMentions > 0 ? "@" : ""
            let count = unread > 0 ? " \(mention)\(unread > 99 ? "99+" : String(unread)) " : ""
            let clock = conversation.lastMessageTime.map { WallTime($0).clock } ?? ""
            let room = width - first.width - TextWidth.of(count) - clock.utf8.count - 2
            var name = style
            name.isBold = unread > 0 || conversation.isMarkedUnread
            if conversation.isArchived, !isChosen { name.isDim = true }
            first.append(TextWidth.fit(chat.shown.name(ofConversation: conversation.id), to: max(4, room)), name)
            first.append(" \(clock)", isChosen ? style : .dim)
            if unread > 0 {
                first.append(
                    count, conversation.isMuted ? .dim : Style(isBold: true, isInverse: true, color: .green))
            }
            rows.append(first)
            var second = StyledLine()
            second.append(chat.chip(ofConversation: conversation.id))
            let isThere = chat.shown.presence(in: conversation)?.isOnline == true
            second.append(isThere ? "●" : " ", .color(.green))
            if let typists = chat.shown.typists(in: conversation.id) {
                second.append(typists, .color(.green))
            } else if let draft = conversation.draft, conversation.id != chat.openID {
                second.append("Draft: ", .color(.yellow))
                second.append(PlainText.line(draft), .dim)
            } else {
                second.append(preview(of: conversation), .dim)
            }
            rows.append(second)
        }
        if conversations.isEmpty {
            rows = [StyledLine(), StyledLine(chat.link == .online ? "  No conversations yet." : "  …", .dim)]
            if chat.link == .online { rows.append(StyledLine("  /open NAME begins one.", .dim)) }
        }
        // The selection stays visible.
        let row = (conversations.firstIndex { $0.id == chosen } ?? 0) * 2
        let start = max(0, min(row - height + 2, rows.count - 1))
        let shown = Array(rows.dropFirst(start).prefix(height))
        return shown + Array(repeating: StyledLine(), count: height - shown.count)
    }

    private func preview(of conversation: Conversation) -> String {
        guard let sender = conversation.lastMessageSenderID else { return "" }
        let content = conversation.shownLastContent
        if sender == chat.shown.myID { return "You: \(content)" }
        return conversation.kind == .group ? "\(chat.shown.name(of: sender)): \(content)" : content
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
        head.append(chat.shown.name(ofConversation: openID), .bold)
        if let conversation = chat.open, conversation.kind == .group {
            let names = conversation.members.map {
                $0.userID == chat.shown.myID ? "you" : chat.shown.name(of: $0.userID)
            }
            head.append("  \(names.joined(separator: ", "))", .dim)
        }
        if let conversation = chat.open { head.append(beside: conversation, chat.shown) }
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

    /// The texts shown instead of messages.
    private var emptyTexts: [String] {
        let choice = "Choose a conversation with ↑ ↓ and Enter."
        if !unaddressed.isEmpty { return ["Not sent yet:"] + PlainText.lines(unaddressed).prefix(5) + ["", choice] }
        guard chat.shown.me?.isGuest == true else {
            return chat.shown.conversations.isEmpty ? ["Nobody yet. /open NAME begins one."] : [choice]
        }
        return [
            chat.isTemporary ? "You are a guest. When you leave," : "You are a guest. This account is kept",
            chat.isTemporary ? "nobody can come back to this account." : "on this machine, and nowhere else.",
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

    /// Returns the rows of the question or the input around the cursor; longer texts have arrows beside them.
    private mutating func inputRows(atMost limit: Int) -> (rows: [StyledLine], cursor: (row: Int, column: Int)) {
        if let question = chat.question {
            var line = StyledLine(" \(question.label): ", .color(.yellow, bold: true))
            let column = line.width
            let room = max(4, screenWidth - column - 1)
            let shown = question.isSecret ? editor.masked(width: room) : editor.window(width: room)
            line.append(shown.text)
            return ([line.fitted(to: screenWidth)], (0, min(screenWidth - 1, column + shown.cursor)))
        }
        let (texts, cursor) = editor.layout(width: inputWidth)
        let count = min(texts.count, limit)
        let top = min(max(inputTop, cursor.row - count + 1), cursor.row, texts.count - count)
        inputTop = top
        let rows = (top..<(top + count)).map { index in
            let isCut = index == top && top > 0 || index == top + count - 1 && index < texts.count - 1
            let sign = index == 0 ? (edited == nil ? "›" : "✎") : isCut ? (index == top ? "↑" : "↓") : " "
            var line = StyledLine(" \(sign) ", index == 0 ? .color(.green, bold: true) : .dim)
            line.append(texts[index])
            return line.fitted(to: screenWidth)
        }
        return (rows, (cursor.row - top, 3 + cursor.column))
    }

    private var hint: StyledLine {
        if panel != nil { return StyledLine(" ↑↓ PgUp PgDn scroll · Esc closes", .dim) }
        if chat.question != nil { return StyledLine(" Enter continues · Esc cancels", .dim) }
        if edited != nil {
            return StyledLine(" Enter changes it · an emptied line deletes it · ↑↓ another · Esc cancels", .dim)
        }
        if !unaddressed.isEmpty { return unaddressedHint }
        if wasLost { return lossHint }
        return StyledLine(
            isChoosing
                ? " ↑↓ choose · Enter opens · type to write · /help · Ctrl-C leaves"
                : " Enter sends · Alt-Enter new line · Tab list · ↑ edits the last · /help", .dim)
    }

    /// A hint shown until a conversation is open.
    private var unaddressedHint: StyledLine {
        var line = StyledLine(" No conversation is open:", .color(.yellow, bold: true))
        line.append(" choose one with ↑↓ and Enter, or /open NAME.", .color(.yellow))
        return line
    }

    /// A hint shown until the connection is back.
    private var lossHint: StyledLine {
        var line = StyledLine(" The server is away.", .color(.yellow, bold: true))
        line.append(" What you write is kept and sent when it is back.", .color(.yellow))
        return line
    }
}

extension StyledLine {
    /// Appends presence and typing after a conversation's name.
    fileprivate mutating func append(beside conversation: Conversation, _ shown: ClientSnapshot) {
        if conversation.isMuted { append("  muted", .dim) }
        if conversation.isArchived { append("  archived", .dim) }
        if !conversation.pinnedSeqs.isEmpty { append("  \(conversation.pinnedSeqs.count) pinned", .dim) }
        if let typists = shown.typists(in: conversation.id) {
            append("  \(typists)", .color(.green))
        } else if let presence = shown.presence(in: conversation) {
            if presence.isOnline {
                append("  ● online", .color(.green))
            } else if let seen = presence.lastSeenAt {
                let (now, then) = (WallTime(.now), WallTime(seen))
                append("  last seen \(then.day == now.day ? "" : "on \(then.day), ")\(then.clock)", .dim)
            }
        }
    }
}
