import Foundation
import GRDB

/// Reading the messages of a conversation.
extension StoreReader {
    /// Returns messages, the oldest first, with the changes of the outbox. The unsent ones follow if `withUnsent`.
    func messages(
        _ rows: [Row], in conversationID: Conversation.ID, withUnsent: Bool, me: Me?
    ) throws -> [Message] {
        let changes = try changes(queueKey: conversationID.rawValue)
        let sends = changes.filter(\.isMessage)
        let events: [GroupEvent?] = try rows.map { row in try (row["event"] as String?).map(StoreJSON.decode) }
        let quotes = try rows.map { row in
            try (row["reply_to"] as String?).map { try StoreJSON.decode($0) as Message.Quote }.map {
                try quote($0, in: conversationID, changes: changes)
            }
        }
        let unsent = try (withUnsent ? sends : []).map { send in
            let quoted = try send.replyToSeq.map {
                try quote(Message.Quote(seq: $0, kind: nil), in: conversationID, changes: changes)
            }
            return (send, quoted)
        }
        let named = events.flatMap { $0?.userIDs ?? [] } + (quotes + unsent.map(\.1)).compactMap { $0?.senderID }
        let users = try profiles(rows.map { $0.id("sender_id") } + named + [userID], me: me)
        let seqs = rows.map { $0["seq"] as Int }
        let reactions =
            if let first = seqs.min(), let last = seqs.max() {
                try reactions(first...last, in: conversationID, changes: changes)
            } else {
                [Int: [Reaction]]()
            }
        // The numbers up to which all other members have read, and their devices have received.
        let marks = try Row.fetchOne(
            database.cachedStatement(
                sql: """
                    select min(last_read_seq) as read, min(max(last_read_seq, last_delivered_seq)) as delivered
                    from member where conversation_id = ? and user_id <> ?
                    """),
            arguments: [conversationID.rawValue, userID.rawValue])
        let readMark = marks.flatMap { $0["read"] as Int? } ?? .max
        let deliveredMark = marks.flatMap { $0["delivered"] as Int? } ?? .max
        let hiddenSenders = try hiddenSenders(in: conversationID)
        var messages = try zip(zip(rows, events), quotes).map { rowAndEvent, quote in
            let (row, event) = rowAndEvent
            var message = try message(row, users: users, isReadUpTo: readMark)
            message.isBlocked = message.kind != .system && hiddenSenders.contains(message.senderID)
            message.isDelivered = message.seq.map { $0 <= deliveredMark } ?? false
            message.event = event
            message.event?.profiles = event?.userIDs.compactMap { users[$0] } ?? []
            message.replyTo = quote?.with(users, hiddenSenders)
            if message.deletedAt == nil { message.reactions = message.seq.flatMap { reactions[$0] } ?? [] }
            return message
        }
        for change in changes {
            guard let seq = change.seq, let index = messages.firstIndex(where: { $0.seq == seq }) else { continue }
            switch change.method {
            case .edit:
                if change.refusal == nil { messages[index].apply(edit: change) }
                messages[index].delivery = change.delivery
            case .delete:
                if change.refusal == nil { messages[index].apply(deletion: change) }
                messages[index].delivery = change.delivery
            case .send, .sendFiles, .react, .pin, .set, .markRead, .save, .fill: break
            }
        }
        messages += try unsent.map { send, quote in
            var message = try pendingMessage(for: send, sender: users[userID])
            message.replyTo = quote?.with(users, hiddenSenders)
            return message
        }
        return messages
    }

    /// Returns the newest known state of a quoted message: that of the quote, of the message, or of a pending change.
    private func quote(
        _ quote: Message.Quote, in conversationID: Conversation.ID, changes: [QueuedChange]
    ) throws -> Message.Quote {
        var quote = quote
        let row = try Row.fetchOne(
            database.cachedStatement(
                sql: """
                    select sender_id, kind, coalesce(streamed, content) as content, version
                    from message where conversation_id = ? and seq = ?
                    """),
            arguments: [conversationID.rawValue, quote.seq])
        if let row, row["version"] >= quote.version {
            quote = Message.Quote(
                seq: quote.seq, senderID: row.id("sender_id"), kind: .init(rawValue: row["kind"]),
                content: (row["content"] as String?)?.firstCharacters(100), version: row["version"])
        }
        for change in changes where change.seq == quote.seq && change.refusal == nil {
            if change.method == .edit { quote.content = change.content?.firstCharacters(100) }
            if change.method == .delete { quote.content = nil }
        }
        return quote
    }

    /// Returns the stored messages with these numbers, the oldest first.
    func messages(numbered seqs: [Int], in conversationID: Conversation.ID) throws -> [Message] {
        let statement = try database.cachedStatement(
            sql: "select * from message where conversation_id = ? and seq = ?")
        let rows = try Set(seqs).sorted().compactMap {
            try Row.fetchOne(statement, arguments: [conversationID.rawValue, $0])
        }
        return try messages(rows, in: conversationID, withUnsent: false, me: try me())
    }

    func message(_ row: Row, users: [User.ID: User], isReadUpTo mark: Int) throws -> Message {
        let seq: Int = row["seq"]
        let senderID: User.ID = row.id("sender_id")
        // The message of this user keeps the id that it had in the outbox.
        let clientID: Message.ID? = senderID == userID ? row.optionalID("client_id") : nil
        var message = Message(
            id: clientID ?? row.id("id"), conversationID: row.id("conversation_id"), seq: seq,
            senderID: senderID, sender: users[senderID], kind: .init(rawValue: row["kind"]),
            content: row["streamed"] ?? row["content"],
            attachments: try Self.attachments(row), isRead: seq <= mark,
            createdAt: Date(timeIntervalSince1970: row["created_at"]), editedAt: Self.date(row["edited_at"]),
            deletedAt: Self.date(row["deleted_at"]), delivery: .sent, isMine: senderID == userID)
        message.isStreaming = row["streamed"] != nil
        message.isHeld = row["is_held"]
        message.mentions = try StoreJSON.decode(row["mentions"])
        message.mentionsEveryone = row["mentions_everyone"]
        message.mentionsMe = !message.isMine && (message.mentionsEveryone || message.mentions.contains(userID))
        message.data = try (row["data"] as String?).map { try StoreJSON.decode($0) }
        return message
    }

    func pendingMessage(for change: QueuedChange, sender: User?) throws -> Message {
        var kind = MessageKind.text
        if case .string(let name)? = change.params["kind"] { kind = .init(rawValue: name) }
        var message = Message(
            id: Message.ID(change.clientID ?? "\(change.id)"), conversationID: Conversation.ID(change.queueKey),
            seq: nil, senderID: userID,
            sender: sender, kind: kind, content: change.content,
            attachments: attachments(of: change), createdAt: change.createdAt, delivery: change.delivery, isMine: true)
        message.applyContent(of: change)
        return message
    }

    private static func attachments(_ row: Row) throws -> [Message.Attachment] {
        guard let first = row["attachment"] as String? else { return [] }
        let more = try (row["more_attachments"] as String?).map { try StoreJSON.decode($0) as [Message.Attachment] }
        return [try StoreJSON.decode(first)] + (more ?? [])
    }

    /// Returns the attachments of a pending message, with their files on this device.
    private func attachments(of change: QueuedChange) -> [Message.Attachment] {
        guard change.method == .sendFiles, let clientID = change.clientID else { return change.attachments }
        return change.files.enumerated().map { index, file in
            var attachment = file.attachment
            attachment.fileURL = files.url(clientID, .file(index))
            if file.preview != nil { attachment.previewFileURL = files.url(clientID, .preview(index)) }
            return attachment
        }
    }

    static func date(_ seconds: Double?) -> Date? { seconds.map(Date.init(timeIntervalSince1970:)) }
}

extension Message {
    /// Applies a pending edit.
    fileprivate mutating func apply(edit change: QueuedChange) {
        applyContent(of: change)
        editedAt = change.createdAt
    }

    /// Applies the content and details of a pending change. Those that it does not have stay.
    fileprivate mutating func applyContent(of change: QueuedChange) {
        content = change.content
        if let ids = change.mentions { mentions = ids }
        if let everyone = change.flag("mentions_everyone") { mentionsEveryone = everyone }
        switch change.params["data"] {
        case .object(let object)?: data = object
        case .null?: data = nil
        default: break
        }
    }

    /// Removes what a deleted message does not have.
    fileprivate mutating func apply(deletion change: QueuedChange) {
        deletedAt = change.createdAt
        (content, attachments, data) = (nil, [], nil)
        (mentions, mentionsEveryone, mentionsMe, reactions) = ([], false, false, [])
    }
}

extension Message.Quote {
    /// Returns the quote with its sender's profile, and marked if the sender's messages are hidden.
    fileprivate func with(_ users: [User.ID: User], _ hiddenSenders: Set<User.ID>) -> Self {
        var quote = self
        quote.sender = senderID.flatMap { users[$0] }
        quote.isBlocked = kind != .system && senderID.map(hiddenSenders.contains) == true
        return quote
    }
}
