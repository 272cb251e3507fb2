internal import TerminalText

/// The open conversation as rows of the screen: dates, senders, texts, signs.
struct MessageRows {
    /// Which row of which message it is, so that a place in the history can be found again when rows come and go.
    struct ID: Sendable, Hashable {
        /// Messages on their way stand behind all that have a number.
        let seq: Int
        let row: Int
    }

    struct Row {
        let id: ID
        let line: StyledLine
    }

    private(set) var rows: [Row] = []

    init(_ model: ChatModel, width: Int) {
        guard let openID = model.openID, let conversation = model.world.conversations[openID] else { return }
        let isGroup = conversation.kind == "group"
        var day: String?
        var lastSender: String?
        var lastClock: String?
        if let oldest = model.openMessages.first, oldest.seq > 1 {
            rows.append(Row(id: ID(seq: oldest.seq, row: -9), line: Self.centered("· · · older above · · ·", width)))
        }
        for message in model.openMessages {
            let time = WireTime(message.createdAt)
            if let time, time.day != day {
                rows.append(Row(id: ID(seq: message.seq, row: -3), line: Self.centered("── \(time.day) ──", width)))
                day = time.day
                lastSender = nil
            }
            if let mark = model.unreadAfter, message.seq == mark + 1, message.senderID != model.world.myID {
                var line = StyledLine()
                line.append(Self.centered("── new ──", width).text, .color(.red))
                rows.append(Row(id: ID(seq: message.seq, row: -2), line: line))
                lastSender = nil
            }
            let isMine = message.senderID == model.world.myID
            if message.senderID != lastSender || time?.clock != lastClock {
                var head = StyledLine()
                head.append(time?.clock ?? "     ", .dim)
                head.append(" ")
                head.append(model.chip(of: message.senderID))
                head.append(" ")
                head.append(
                    isMine ? "You" : model.world.name(of: message.senderID),
                    .color(isMine ? .green : AvatarChip.color(of: message.senderID), bold: true))
                rows.append(Row(id: ID(seq: message.seq, row: -1), line: head))
            }
            lastSender = message.senderID
            lastClock = time?.clock
            var sign: (String, Style)?
            if isMine { sign = model.world.isReadByAll(message) ? ("✓✓", .color(.cyan)) : ("✓", .dim) }
            append(
                message.shownContent, seq: message.seq, width: width, isDim: message.isDeleted,
                note: message.isEdited && !message.isDeleted ? " (edited)" : "", sign: sign)
        }
        let waiting = model.outgoing.filter { $0.conversationID == openID }
        for (index, message) in waiting.enumerated() {
            if index == 0, lastSender != model.world.myID {
                var head = StyledLine("      ")
                if let me = model.world.myID { head.append(model.chip(of: me)) }
                head.append(" ")
                head.append("You", .color(.green, bold: true))
                rows.append(Row(id: ID(seq: Int.max - waiting.count, row: -1), line: head))
            }
            append(
                message.content, seq: Int.max - waiting.count + index, width: width, isDim: true, note: "",
                sign: ("…", .dim))
        }
        if rows.isEmpty {
            let name = model.world.name(ofConversation: openID)
            let text = isGroup ? "Nobody has written yet." : "This is the beginning of your conversation with \(name)."
            rows.append(Row(id: ID(seq: 0, row: 0), line: Self.centered(text, width)))
        }
    }

    /// A text's rows, the sign at the end of the last.
    private mutating func append(
        _ content: String, seq: Int, width: Int, isDim: Bool, note: String, sign: (String, Style)?
    ) {
        let indent = "       "
        let room = max(8, width - indent.utf8.count - 4)
        let lines = PlainText.lines(content + note).flatMap { TextWidth.wrap($0, to: room) }
        for (index, text) in lines.enumerated() {
            var line = StyledLine(indent)
            line.append(text, isDim ? .dim : .plain)
            if index == lines.count - 1, let sign {
                line.append(String(repeating: " ", count: max(1, room + 1 - TextWidth.of(text))))
                line.append(sign.0, sign.1)
            }
            rows.append(Row(id: ID(seq: seq, row: index), line: line))
        }
    }

    private static func centered(_ text: String, _ width: Int) -> StyledLine {
        let cut = TextWidth.truncate(text, to: width)
        return StyledLine(String(repeating: " ", count: max(0, (width - TextWidth.of(cut)) / 2)) + cut, .dim)
    }
}
