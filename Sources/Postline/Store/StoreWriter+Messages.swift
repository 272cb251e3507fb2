import Foundation
import GRDB

/// Applying messages.
extension StoreWriter {
    /// Applies messages of any conversations, in any order.
    func apply(_ messages: [WireMessage]) throws {
        for (conversationID, messages) in Dictionary(grouping: messages, by: \.conversationID) {
            _ = try resetIfStale(conversationID)
            let held = try contiguousRange(conversationID)
            // A mention is counted if it is newer than all that came before.
            for message in messages.sorted(by: { $0.seq < $1.seq }) { try insert(message) }
            // A page of before, and the answer to a send that is repeated.
            if try isExpired(messages, in: conversationID) { try dropExpired(in: conversationID) }
            try extendContiguousRange(conversationID, held: held)
        }
    }

    /// Returns true if one of the messages, or what one of them quotes, has expired.
    private func isExpired(_ messages: [WireMessage], in conversationID: Conversation.ID) throws -> Bool {
        let oldest = try Int.fetchOne(
            database.cachedStatement(sql: "select oldest_seq from conversation where id = ?"),
            arguments: [conversationID.rawValue])
        guard let oldest, oldest > 1 else { return false }
        return messages.contains { $0.seq < oldest || $0.replyTo.map { $0.seq < oldest } == true }
    }

    func insert(_ message: WireMessage) throws {
        let attachments = message.allAttachments
        let more = attachments.dropFirst()
        try database.cachedStatement(
            sql: """
                insert into message (conversation_id, seq, id, sender_id, client_id, kind, content, attachment, version,
                    created_at, edited_at, deleted_at, event, reply_to, mentions, mentions_everyone, data,
                    more_attachments, is_held)
                values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                on conflict do update set sender_id = excluded.sender_id, client_id = excluded.client_id,
                    content = excluded.content, attachment = excluded.attachment, event = excluded.event,
                    version = excluded.version, edited_at = excluded.edited_at, deleted_at = excluded.deleted_at,
                    reply_to = excluded.reply_to, mentions = excluded.mentions,
                    mentions_everyone = excluded.mentions_everyone, data = excluded.data,
                    more_attachments = excluded.more_attachments, is_held = excluded.is_held,
                    streamed = case when excluded.version = version then streamed end
                where excluded.version >= version
                """
        ).execute(arguments: [
            message.conversationID.rawValue, message.seq, message.id, message.senderID.rawValue, message.clientID,
            message.kind.rawValue,
            message.content, try attachments.first.map(StoreJSON.encode), message.version,
            message.createdAt.timeIntervalSince1970, message.editedAt?.timeIntervalSince1970,
            message.deletedAt?.timeIntervalSince1970, try message.event.map(StoreJSON.encode),
            try message.replyTo.map(StoreJSON.encode), try StoreJSON.encode(message.mentions ?? []),
            message.mentionsEveryone ?? false, try message.data.map(StoreJSON.encode),
            more.isEmpty ? nil : try StoreJSON.encode(Array(more)), message.isHeld ?? false,
        ])
        guard database.changesCount > 0 else { return }
        try index(message)
        if message.senderID == userID {
            // Sending has read all messages before.
            try database.cachedStatement(
                sql: "update conversation set unread_mentions = 0 where id = ? and last_seq < ? and unread_mentions > 0"
            ).execute(arguments: [message.conversationID.rawValue, message.seq])
        } else if message.mentions(userID) {
            try database.cachedStatement(
                sql: """
                    update conversation set unread_mentions = min(unread_mentions + 1, 100)
                     where id = ? and last_seq < ?
                    """
            ).execute(arguments: [message.conversationID.rawValue, message.seq])
        }
        try database.cachedStatement(
            sql: """
                update conversation set last_seq = ?, last_message_content = ?, last_message_time = ?,
                    last_message_sender_id = ? where id = ? and last_seq <= ?
                """
        ).execute(arguments: [
            message.seq, message.content.map { $0.firstCharacters(200) }, message.createdAt.timeIntervalSince1970,
            message.senderID.rawValue,
            message.conversationID.rawValue, message.seq,
        ])
        guard message.senderID == userID else { return }
        // A sender has read all earlier messages, and a message from the server is no longer pending.
        try advanceReadMark(of: message.conversationID, to: message.seq)
        if let clientID = message.clientID { try removeSend(clientID) }
    }

    /// Returns the preview of a message if it waits for a moderator: its conversation has none, as for the others.
    func heldPreview(_ conversationID: Conversation.ID, seq: Int) throws -> String? {
        try String.fetchOne(
            database.cachedStatement(
                sql: "select content from message where conversation_id = ? and seq = ? and is_held"),
            arguments: [conversationID.rawValue, seq])?.firstCharacters(200)
    }

    /// Makes a message be found by the words that it has now.
    private func index(_ message: WireMessage) throws {
        let words = message.kind == .system ? "" : SearchWords.words(of: message.content ?? "")
        let key: StatementArguments = [message.conversationID.rawValue, message.seq]
        guard !words.isEmpty else {
            // Most messages without words never had any.
            if message.version > 1 {
                try database.cachedStatement(sql: "delete from message_text where conversation_id = ? and seq = ?")
                    .execute(arguments: key)
            }
            return
        }
        try database.cachedStatement(
            sql: """
                insert into message_text (conversation_id, seq, words) values (?, ?, ?)
                on conflict do update set words = excluded.words where words <> excluded.words
                """
        ).execute(arguments: key + [words])
    }

    /// Appends what a piece has beyond the text so far of a message that is streaming. Does nothing if the message is not
    /// stored or is finished, or if the piece begins beyond the text.
    func apply(_ piece: WirePiece) throws {
        let key: StatementArguments = [piece.conversationID.rawValue, piece.seq]
        let row = try Row.fetchOne(
            database.cachedStatement(
                sql: "select streamed from message where conversation_id = ? and seq = ? and version = 1"),
            arguments: key)
        guard let row else { return }
        let text: String = row["streamed"] ?? ""
        let length = text.unicodeScalars.count
        guard piece.start <= length else { return }
        let news = piece.content.unicodeScalars.dropFirst(length - piece.start)
        let streamed = text + String(String.UnicodeScalarView(news))
        try database.cachedStatement(sql: "update message set streamed = ? where conversation_id = ? and seq = ?")
            .execute(arguments: [streamed] + key)
        try database.cachedStatement(
            sql: "update conversation set last_message_content = ? where id = ? and last_seq = ?"
        ).execute(arguments: [streamed.firstCharacters(200)] + key)
    }

    /// Returns the numbers of the stored messages without a gap up to the newest, or nil if there are none.
    func contiguousRange(_ conversationID: Conversation.ID) throws -> ClosedRange<Int>? {
        guard
            let last = try Int.fetchOne(
                database.cachedStatement(sql: "select max(seq) from message where conversation_id = ?"),
                arguments: [conversationID.rawValue])
        else { return nil }
        let first = try Int.fetchOne(
            database.cachedStatement(sql: "select first_seq from conversation where id = ?"),
            arguments: [conversationID.rawValue])
        return min(first ?? last, last)...last
    }

    /// Extends the contiguous range of stored messages downwards from the newest. `held` is the range before the
    /// change; it needs no check.
    func extendContiguousRange(_ conversationID: Conversation.ID, held: ClosedRange<Int>?) throws {
        guard var first = try contiguousRange(conversationID)?.upperBound else { return }
        let below = try database.cachedStatement(
            sql: "select seq from message where conversation_id = ? and seq < ? order by seq desc")
        func descend(until isKnown: (Int) -> Bool) throws {
            let seqs = try Int.fetchCursor(below, arguments: [conversationID.rawValue, first])
            while !isKnown(first), let seq = try seqs.next(), seq == first - 1 { first = seq }
        }
        try descend { held?.contains($0) == true }
        if let held, held.contains(first) {
            first = held.lowerBound
            try descend { _ in false }
        }
        try database.execute(
            sql: "update conversation set first_seq = ? where id = ?", arguments: [first, conversationID.rawValue])
    }
}

extension String {
    /// Returns the first characters as the server counts them (code points).
    func firstCharacters(_ count: Int) -> String {
        var first = UnicodeScalarView()
        first.append(contentsOf: unicodeScalars.prefix(count))
        return String(first)
    }
}
