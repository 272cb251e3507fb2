import Foundation
import GRDB

/// Applying conversations, members and their marks.
extension StoreWriter {
    func apply(_ conversation: WireConversation) throws {
        for profile in conversation.profiles ?? [] { try apply(profile) }
        guard let held = try resetIfStale(conversation.id) else {
            try database.cachedStatement(
                sql: """
                    insert into conversation values (
                        ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, ?, ?)
                    """
            ).execute(arguments: [
                conversation.id.rawValue, conversation.kind.rawValue, conversation.title,
                conversation.createdBy?.rawValue,
                conversation.version,
                // No message is stored yet, so the range begins after the newest.
                try contiguousRange(conversation.id)?.lowerBound ?? conversation.lastSeq + 1,
                conversation.lastSeq, conversation.lastMessageContent,
                conversation.lastMessageTime?.timeIntervalSince1970, conversation.lastMessageSenderID?.rawValue,
                conversation.lastReadSeq, conversation.createdAt.timeIntervalSince1970,
                conversation.updatedAt.timeIntervalSince1970, try generation,
                conversation.mutedUntil?.timeIntervalSince1970,
                try StoreJSON.encode(conversation.pinnedSeqs ?? []), try conversation.data.map(StoreJSON.encode),
                conversation.unreadMentions ?? 0, conversation.isMarkedUnread ?? false,
                conversation.isArchived ?? false, conversation.isPinned ?? false, conversation.scheduledCount ?? 0,
                conversation.unsentCount ?? 0, conversation.firstSeq ?? 1, conversation.messageTTLSeconds,
            ])
            try dropExpired(in: conversation.id)
            return try setMembers(conversation)
        }
        if conversation.lastSeq >= held.lastSeq {
            try database.execute(
                sql: """
                    update conversation set last_seq = ?, last_message_content = ?, last_message_time = ?,
                        last_message_sender_id = ? where id = ?
                    """,
                arguments: [
                    conversation.lastSeq,
                    try conversation.lastMessageContent
                        ?? heldPreview(conversation.id, seq: conversation.lastSeq),
                    conversation.lastMessageTime?.timeIntervalSince1970, conversation.lastMessageSenderID?.rawValue,
                    conversation.id.rawValue,
                ])
        }
        try advanceReadMark(of: conversation.id, to: conversation.lastReadSeq)
        // Of before the stored read mark or message, they are outdated.
        if conversation.lastReadSeq >= held.lastReadSeq, conversation.lastSeq >= held.lastSeq {
            try database.execute(
                sql: "update conversation set unread_mentions = ?, is_marked_unread = ? where id = ?",
                arguments: [
                    conversation.unreadMentions ?? 0, conversation.isMarkedUnread ?? false, conversation.id.rawValue,
                ])
        }
        guard conversation.version >= held.version else { return }
        if held.version < 0 {
            try database.execute(
                sql: "update conversation set kind = ?, created_by = ?, created_at = ?, first_seq = ? where id = ?",
                arguments: [
                    conversation.kind.rawValue, conversation.createdBy?.rawValue,
                    conversation.createdAt.timeIntervalSince1970,
                    try contiguousRange(conversation.id)?.lowerBound ?? conversation.lastSeq + 1,
                    conversation.id.rawValue,
                ])
        }
        try database.execute(
            sql: """
                update conversation set title = ?, version = ?, updated_at = ?, muted_until = ?, pinned_seqs = ?,
                    data = ?, is_archived = ?, is_pinned = ?, scheduled_count = ?, unsent_count = ?,
                    message_ttl_seconds = ? where id = ?
                """,
            arguments: [
                conversation.title, conversation.version, conversation.updatedAt.timeIntervalSince1970,
                conversation.mutedUntil?.timeIntervalSince1970, try StoreJSON.encode(conversation.pinnedSeqs ?? []),
                try conversation.data.map(StoreJSON.encode), conversation.isArchived ?? false,
                conversation.isPinned ?? false, conversation.scheduledCount ?? 0, conversation.unsentCount ?? 0,
                conversation.messageTTLSeconds, conversation.id.rawValue,
            ])
        try database.execute(
            sql: "update conversation set oldest_seq = ?1 where id = ?2 and oldest_seq < ?1",
            arguments: [conversation.firstSeq ?? 1, conversation.id.rawValue])
        if database.changesCount > 0 { try dropExpired(in: conversation.id) }
        try setMembers(conversation)
    }

    /// Deletes the expired messages of a conversation, and what other messages quote of them.
    func dropExpired(in conversationID: Conversation.ID) throws {
        for table in ["message", "reaction"] {
            try database.cachedStatement(
                sql: """
                    delete from \(table) where conversation_id = ?1
                       and seq < (select oldest_seq from conversation where id = ?1)
                    """
            ).execute(arguments: [conversationID.rawValue])
        }
        try database.cachedStatement(
            sql: """
                update message
                   set reply_to = json_object(
                           'seq', json_extract(reply_to, '$.seq'), 'sender_id', null, 'kind', null, 'content', null,
                           'version', 0)
                 where conversation_id = ?1 and reply_to is not null
                   and json_extract(reply_to, '$.seq') < (select oldest_seq from conversation where id = ?1)
                """
        ).execute(arguments: [conversationID.rawValue])
        try database.cachedStatement(
            sql: "update conversation set first_seq = oldest_seq where id = ? and first_seq < oldest_seq"
        ).execute(arguments: [conversationID.rawValue])
    }

    /// Returns the version, newest number and read mark of the stored conversation, or nil if there is none.
    ///
    /// A conversation of before a reset is first emptied: its version becomes -1, below all versions, and its row is
    /// shown until the new one comes.
    func resetIfStale(_ id: Conversation.ID) throws -> (version: Int, lastSeq: Int, lastReadSeq: Int)? {
        guard
            let row = try Row.fetchOne(
                database.cachedStatement(
                    sql: "select version, last_seq, last_read_seq, generation from conversation where id = ?"),
                arguments: [id.rawValue])
        else { return nil }
        guard row["generation"] as Int != (try generation) else {
            return (row["version"], row["last_seq"], row["last_read_seq"])
        }
        // A reset does not report edits and deletions, so the stored messages may be outdated.
        for table in ["message", "reaction"] {
            try database.execute(sql: "delete from \(table) where conversation_id = ?", arguments: [id.rawValue])
        }
        try database.execute(
            sql: "update member set last_read_seq = 0, last_delivered_seq = 0 where conversation_id = ?",
            arguments: [id.rawValue])
        try database.execute(
            sql: """
                update conversation set generation = ?, version = -1, first_seq = 1, last_seq = 0,
                    last_message_content = null, last_message_time = null, last_message_sender_id = null,
                    last_read_seq = 0, unread_mentions = 0, received_seq = 0 where id = ?
                """,
            arguments: [try generation, id.rawValue])
        return (-1, 0, 0)
    }

    /// Replaces the members. Stored marks that are higher stay.
    func setMembers(_ conversation: WireConversation) throws {
        let marks = try Row.fetchAll(
            database.cachedStatement(
                sql: "select user_id, last_read_seq, last_delivered_seq from member where conversation_id = ?"),
            arguments: [conversation.id.rawValue]
        ).reduce(into: [String: (read: Int, delivered: Int)]()) {
            $0[$1["user_id"]] = ($1["last_read_seq"], $1["last_delivered_seq"])
        }
        try database.execute(sql: "delete from member where conversation_id = ?", arguments: [conversation.id.rawValue])
        let insert = try database.cachedStatement(sql: "insert or replace into member values (?, ?, ?, ?, ?, ?, ?)")
        for (position, member) in conversation.members.enumerated() {
            try insert.execute(arguments: [
                conversation.id.rawValue, member.userID.rawValue, position, member.role.rawValue,
                member.joinedAt.timeIntervalSince1970,
                max(member.lastReadSeq, marks[member.userID.rawValue]?.read ?? 0),
                max(member.lastDeliveredSeq, marks[member.userID.rawValue]?.delivered ?? 0),
            ])
        }
    }

    func apply(_ read: WireRead) throws {
        _ = try resetIfStale(read.conversationID)
        try database.execute(
            sql: "update member set last_read_seq = max(last_read_seq, ?) where conversation_id = ? and user_id = ?",
            arguments: [read.lastReadSeq, read.conversationID.rawValue, read.userID.rawValue])
        if read.userID == userID { try advanceReadMark(of: read.conversationID, to: read.lastReadSeq) }
    }

    func apply(_ delivered: WireDelivered) throws {
        _ = try resetIfStale(delivered.conversationID)
        try database.execute(
            sql: """
                update member set last_delivered_seq = max(last_delivered_seq, ?)
                where conversation_id = ? and user_id = ?
                """,
            arguments: [delivered.lastDeliveredSeq, delivered.conversationID.rawValue, delivered.userID.rawValue])
    }

    /// Ends the mark of a conversation that the user has marked as unread.
    func endUnreadMark(of conversationID: Conversation.ID) throws {
        try database.execute(
            sql: "update conversation set is_marked_unread = 0 where id = ? and is_marked_unread",
            arguments: [conversationID.rawValue])
    }

    /// Moves the user's own read mark, never back. With it ends what is unread up to there.
    func advanceReadMark(of conversationID: Conversation.ID, to seq: Int) throws {
        try database.execute(
            sql: """
                update conversation set last_read_seq = ?1, is_marked_unread = 0,
                    unread_mentions = case when last_seq > ?1 then unread_mentions else 0 end
                where id = ?2 and last_read_seq < ?1
                """,
            arguments: [seq, conversationID.rawValue])
    }
}
