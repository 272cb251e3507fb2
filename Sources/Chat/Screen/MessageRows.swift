import Foundations
import Postline

/// The rows of the open conversation: dates, senders, texts and delivery signs.
struct MessageRows {
    /// The identity of a row: its message and index. It keeps the scroll position as rows come and go.
    struct ID: Sendable, Hashable {
        /// Messages in flight sort after all numbered ones.
        let seq: Int
        let row: Int
    }

    struct Row {
        let id: ID
        let line: StyledLine
    }

    private(set) var rows: [Row] = []

    init(_ model: ChatModel, width: Int) {
        guard let conversation = model.open else { return }
        let shown = model.shown
        let messages = model.openMessages
        // Messages that the server does not have sort after all numbered ones.
        let waiting = messages.count { $0.seq == nil }
        var nextWaiting = Int.max - waiting
        var day: String?
        var lastSender: User.ID?
        var lastClock: String?
        if let oldest = messages.first?.seq, shown.chats[conversation.id]?.hasOlder == true {
            rows.append(Row(id: ID(seq: oldest, row: -9), line: Self.centered("· · · older above · · ·", width)))
        }
        for message in messages {
            let time = WallTime(message.createdAt)
            let seq = message.seq ?? nextWaiting
            if message.seq == nil { nextWaiting += 1 }
            if time.day != day {
                rows.append(Row(id: ID(seq: seq, row: -3), line: Self.centered("── \(time.day) ──", width)))
                day = time.day
                lastSender = nil
            }
            if let mark = model.unreadAfter, message.seq == mark + 1, !message.isMine {
                var line = StyledLine()
                line.append(Self.centered("── new ──", width).text, .color(.red))
                rows.append(Row(id: ID(seq: seq, row: -2), line: line))
                lastSender = nil
            }
            let isMine = message.isMine
            if message.senderID != lastSender || time.clock != lastClock {
                var head = StyledLine()
                head.append(time.clock, .dim)
                head.append(" ")
                head.append(model.chip(of: message.senderID))
                head.append(" ")
                head.append(
                    isMine ? "You" : shown.name(of: message.senderID),
                    .color(isMine ? .green : AvatarChip.color(of: message.senderID), bold: true))
                rows.append(Row(id: ID(seq: seq, row: -1), line: head))
            }
            lastSender = message.senderID
            lastClock = time.clock
            if let quote = message.replyTo {
                let text = TextWidth.truncate(PlainText.line(shown.text(of: quote)), to: max(8, width - 14))
                rows.append(Row(id: ID(seq: seq, row: -1_000), line: StyledLine("       ┃ \(text)", .dim)))
            }
            append(message, in: conversation, seq: seq, width: width)
            if !message.reactions.isEmpty {
                var line = StyledLine("      ")
                for reaction in message.reactions {
                    line.append(" \(reaction.emoji) \(reaction.count) ", reaction.isMine ? .color(.cyan) : .dim)
                }
                rows.append(Row(id: ID(seq: seq, row: 9_000), line: line))
            }
            if case .refused(let error, _) = message.delivery {
                for (index, text) in TextWidth.wrap(PlainText.line(error.sentence), to: max(8, width - 9)).enumerated()
                {
                    let line = StyledLine("       ! \(text)", .color(.red))
                    rows.append(Row(id: ID(seq: seq, row: 10_000 + index), line: line))
                }
            }
        }
        if rows.isEmpty {
            let name = shown.name(ofConversation: conversation.id)
            let text =
                conversation.kind == .group
                ? "Nobody has written yet." : "This is the beginning of your conversation with \(name)."
            rows.append(Row(id: ID(seq: 0, row: 0), line: Self.centered(text, width)))
        }
    }

    /// Returns the delivery sign of the user's own message.
    private static func sign(_ message: Message) -> (String, Style) {
        switch message.delivery {
        case .queued: ("…", .dim)
        case .refused: ("✗", .color(.red))
        case .sent: message.isRead ? ("✓✓", .color(.cyan)) : message.isDelivered ? ("✓✓", .dim) : ("✓", .dim)
        }
    }

    /// Appends the rows of a message's text, with the sign at the end of the last.
    private mutating func append(_ message: Message, in conversation: Conversation, seq: Int, width: Int) {
        let isDim = message.isDeleted || message.delivery != .sent
        var note = message.isStreaming ? "…" : message.editedAt != nil && !message.isDeleted ? " (edited)" : ""
        if message.isHeld { note += " (waiting for a moderator)" }
        if message.seq.map(conversation.pinnedSeqs.contains) == true { note += " (pinned)" }
        let indent = "       "
        let room = max(8, width - indent.utf8.count - 4)
        let lines = PlainText.lines(message.shownContent + note).flatMap { TextWidth.wrap($0, to: room) }
        for (index, text) in lines.enumerated() {
            var line = StyledLine(indent)
            line.append(text, isDim ? .dim : .plain, mentionsOf: message, in: conversation)
            if index == lines.count - 1, message.isMine {
                let sign = Self.sign(message)
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
