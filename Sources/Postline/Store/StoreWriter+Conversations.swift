import Foundation
import GRDB

/// Applying conversations, members and read marks.
extension StoreWriter {
    func apply(_ conversation: WireConversation) throws {
        for profile in conversation.profiles ?? [] { try apply(profile) }
        guard let held = try resetIfStale(conversation.id) else {
            try database.cachedStatement(
                sql: "insert into conversation values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
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
            ])
            return try setMembers(conversation)
        }
        if conversation.lastSeq >= held.lastSeq {
            try database.execute(
                sql: """
                    update conversation set last_seq = ?, last_message_content = ?, last_message_time = ?,
                        last_message_sender_id = ? where id = ?
                    """,
                arguments: [
                    conversation.lastSeq, conversation.lastMessageContent,
                    conversation.lastMessageTime?.timeIntervalSince1970, conversation.lastMessageSenderID?.rawValue,
                    conversation.id.rawValue,
                ])
        }
        try advanceReadMark(of: conversation.id, to: conversation.lastReadSeq)
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
            sql: "update conversation set title = ?, version = ?, updated_at = ?, muted_until = ? where id = ?",
            arguments: [
                conversation.title, conversation.version, conversation.updatedAt.timeIntervalSince1970,
                conversation.mutedUntil?.timeIntervalSince1970, conversation.id.rawValue,
            ])
        try setMembers(conversation)
    }

    /// Returns the version and newest number of the stored conversation, or nil if there is none.
    ///
    /// A conversation of before a reset is first emptied: its version becomes -1, below all versions, and its row is
    /// shown until the new one comes.
    func resetIfStale(_ id: Conversation.ID) throws -> (version: Int, lastSeq: Int)? {
        guard
            let row = try Row.fetchOne(
                database.cachedStatement(sql: "select version, last_seq, generation from conversation where id = ?"),
                arguments: [id.rawValue])
        else { return nil }
        guard row["generation"] as Int != (try generation) else { return (row["version"], row["last_seq"]) }
        // A reset does not report edits and deletions, so the stored messages may be outdated.
        try database.execute(sql: "delete from message where conversation_id = ?", arguments: [id.rawValue])
        try database.execute(
            sql: "update member set last_read_seq = 0 where conversation_id = ?", arguments: [id.rawValue])
        try database.execute(
            sql: """
                update conversation set generation = ?, version = -1, first_seq = 1, last_seq = 0,
                    last_message_content = null, last_message_time = null, last_message_sender_id = null,
                    last_read_seq = 0 where id = ?
                """,
            arguments: [try generation, id.rawValue])
        return (-1, 0)
    }

    /// Replaces the members. A stored read mark that is higher stays.
    func setMembers(_ conversation: WireConversation) throws {
        let marks = try Row.fetchAll(
            database.cachedStatement(sql: "select user_id, last_read_seq from member where conversation_id = ?"),
            arguments: [conversation.id.rawValue]
        ).reduce(into: [String: Int]()) { $0[$1["user_id"]] = $1["last_read_seq"] }
        try database.execute(sql: "delete from member where conversation_id = ?", arguments: [conversation.id.rawValue])
        let insert = try database.cachedStatement(sql: "insert or replace into member values (?, ?, ?, ?, ?, ?)")
        for (position, member) in conversation.members.enumerated() {
            try insert.execute(arguments: [
                conversation.id.rawValue, member.userID.rawValue, position, member.role.rawValue,
                member.joinedAt.timeIntervalSince1970,
                max(member.lastReadSeq, marks[member.userID.rawValue] ?? 0),
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

    func advanceReadMark(of conversationID: Conversation.ID, to seq: Int) throws {
        try database.execute(
            sql: "update conversation set last_read_seq = max(last_read_seq, ?) where id = ?",
            arguments: [seq, conversationID.rawValue])
    }
}
