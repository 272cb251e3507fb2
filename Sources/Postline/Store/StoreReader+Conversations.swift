import Foundation
import GRDB

/// Reading the conversation list.
extension StoreReader {
    /// Returns all conversations with their members' profiles, the newest first.
    ///
    /// - Parameter isLive: True if presence is current.
    func conversations(me: Me?, isLive: Bool) throws -> [Conversation] {
        let drafts = try drafts()
        let marks = try pendingReadMarks()
        var members: [Conversation.ID: [Conversation.Member]] = [:]
        let rows = try Row.fetchCursor(
            database.cachedStatement(sql: "select * from member order by conversation_id, position"))
        while let row = try rows.next() {
            members[row.id("conversation_id"), default: []].append(Self.member(row))
        }
        let presence = try presence(isLive: isLive)
        let users = try profiles(members.values.joined().map(\.userID), me: me)
        let pendingSends = try lastPendingSends()
        let conversations = try Row.fetchAll(
            database.cachedStatement(
                sql: "select * from conversation order by coalesce(last_message_time, created_at) desc, id")
        ).map { row in
            let id: Conversation.ID = row.id("id")
            let members = members[id] ?? []
            var conversation = Conversation(
                id: id, myID: userID, kind: .init(rawValue: row["kind"]), title: row["title"],
                createdBy: row.optionalID("created_by"),
                members: members, users: members.compactMap { users[$0.userID] }, version: row["version"],
                lastSeq: row["last_seq"], lastMessageContent: row["last_message_content"],
                lastMessageTime: Self.date(row["last_message_time"]),
                lastMessageSenderID: row.optionalID("last_message_sender_id"),
                lastReadSeq: max(row["last_read_seq"], marks[id] ?? 0),
                createdAt: Date(timeIntervalSince1970: row["created_at"]),
                updatedAt: Date(timeIntervalSince1970: row["updated_at"]), draft: drafts[id],
                mutedUntil: Self.date(row["muted_until"]),
                presence: members.reduce(into: [:]) { $0[$1.userID] = presence[$1.userID] })
            // An unsent message is the newest.
            if let send = pendingSends[id] {
                conversation.lastMessageContent = send.content.map { String($0.prefix(200)) }
                conversation.lastMessageTime = send.createdAt
                conversation.lastMessageSenderID = userID
            }
            return conversation
        }
        guard !pendingSends.isEmpty else { return conversations }
        return conversations.sorted {
            ($0.lastMessageTime ?? $0.createdAt, $1.id) > ($1.lastMessageTime ?? $1.createdAt, $0.id)
        }
    }

    /// Returns the last unsent message of each conversation.
    private func lastPendingSends() throws -> [Conversation.ID: QueuedChange] {
        try Row.fetchAll(
            database.cachedStatement(
                sql: """
                    select * from change where method in ('messages.send', 'messages.send_picture') and refusal is null
                    order by id
                    """)
        ).compactMap(QueuedChange.init).reduce(into: [:]) { $0[Conversation.ID($1.queueKey)] = $1 }
    }

    /// Returns the drafts by conversation.
    func drafts() throws -> [Conversation.ID: String] {
        Dictionary(
            uniqueKeysWithValues: try Row.fetchAll(
                database.cachedStatement(sql: "select conversation_id, content from draft")
            ).map { (Conversation.ID($0[0]), $0[1] as String) })
    }

    /// Returns the read marks that the server has not acknowledged, by conversation.
    func pendingReadMarks() throws -> [Conversation.ID: Int] {
        try Row.fetchAll(
            database.cachedStatement(
                sql: "select * from change where method = 'messages.mark_read' and refusal is null")
        ).compactMap(QueuedChange.init).reduce(into: [:]) { marks, change in
            let id = Conversation.ID(change.queueKey)
            marks[id] = max(marks[id] ?? 0, change.seq ?? 0)
        }
    }

    private func presence(isLive: Bool) throws -> [User.ID: Presence] {
        try Row.fetchAll(database.cachedStatement(sql: "select * from presence")).reduce(into: [:]) { found, row in
            found[row.id("user_id")] = Presence(
                isOnline: isLive && row["is_online"], lastSeenAt: Self.date(row["last_seen_at"]))
        }
    }

    static func member(_ row: Row) -> Conversation.Member {
        Conversation.Member(
            userID: row.id("user_id"), role: .init(rawValue: row["role"]),
            joinedAt: Date(timeIntervalSince1970: row["joined_at"]), lastReadSeq: row["last_read_seq"])
    }
}
