import Foundation
import GRDB

/// Reading the conversation list.
extension StoreReader {
    /// Returns all conversations with their members' profiles, the newest first.
    ///
    /// - Parameter isLive: True if presence is current.
    func conversations(me: Me?, isLive: Bool) throws -> [Conversation] {
        let drafts = try drafts()
        let changes = Dictionary(grouping: try changes().filter { $0.refusal == nil }, by: \.queueKey)
        var members: [Conversation.ID: [Conversation.Member]] = [:]
        let rows = try Row.fetchCursor(
            database.cachedStatement(sql: "select * from member order by conversation_id, position"))
        while let row = try rows.next() {
            members[row.id("conversation_id"), default: []].append(Self.member(row))
        }
        let presence = try presence(isLive: isLive)
        let users = try profiles(members.values.joined().map(\.userID), me: me)
        let blocked = Set(try blockedUserIDs())
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
                lastReadSeq: row["last_read_seq"],
                createdAt: Date(timeIntervalSince1970: row["created_at"]),
                updatedAt: Date(timeIntervalSince1970: row["updated_at"]), draft: drafts[id],
                mutedUntil: Self.date(row["muted_until"]),
                presence: members.reduce(into: [:]) { $0[$1.userID] = presence[$1.userID] })
            conversation.pinnedSeqs = try StoreJSON.decode(row["pinned_seqs"])
            conversation.data = try (row["data"] as String?).map { try StoreJSON.decode($0) }
            conversation.unreadMentions = row["unread_mentions"]
            conversation.isMarkedUnread = row["is_marked_unread"]
            conversation.isArchived = row["is_archived"]
            conversation.isPinned = row["is_pinned"]
            conversation.scheduledCount = row["scheduled_count"]
            conversation.unsentCount = row["unsent_count"]
            conversation.messageTTL = (row["message_ttl_seconds"] as Int?).map { .seconds($0) }
            conversation.isBlocked =
                conversation.kind == .direct && members.contains { blocked.contains($0.userID) }
            conversation.isLastMessageBlocked = try isLastMessageBlocked(in: conversation, blocked)
            for change in changes[id.rawValue] ?? [] { conversation.apply(change) }
            return conversation
        }
        guard changes.values.joined().contains(where: \.isMessage) else { return conversations }
        return conversations.sorted {
            ($0.lastMessageTime ?? $0.createdAt, $1.id) > ($1.lastMessageTime ?? $1.createdAt, $0.id)
        }
    }

    /// Returns the drafts by conversation.
    func drafts() throws -> [Conversation.ID: String] {
        Dictionary(
            uniqueKeysWithValues: try Row.fetchAll(
                database.cachedStatement(sql: "select conversation_id, content from draft")
            ).map { (Conversation.ID($0[0]), $0[1] as String) })
    }

    /// Returns true if the newest message is of a blocked user, and no event of the group.
    private func isLastMessageBlocked(in conversation: Conversation, _ blocked: Set<User.ID>) throws -> Bool {
        guard conversation.kind != .direct, let senderID = conversation.lastMessageSenderID, blocked.contains(senderID)
        else { return false }
        let kind = try String.fetchOne(
            database.cachedStatement(sql: "select kind from message where conversation_id = ? and seq = ?"),
            arguments: [conversation.id.rawValue, conversation.lastSeq])
        return kind != MessageKind.system.rawValue
    }

    private func presence(isLive: Bool) throws -> [User.ID: Presence] {
        try Row.fetchAll(database.cachedStatement(sql: "select * from presence")).reduce(into: [:]) { found, row in
            let wasOnline = row["is_online"] as Bool
            // Of a user who was online when the client was live, the time is that of the session before.
            found[row.id("user_id")] = Presence(
                isOnline: isLive && wasOnline,
                lastSeenAt: wasOnline && !isLive ? nil : Self.date(row["last_seen_at"]))
        }
    }

    static func member(_ row: Row) -> Conversation.Member {
        Conversation.Member(
            userID: row.id("user_id"), role: .init(rawValue: row["role"]),
            joinedAt: Date(timeIntervalSince1970: row["joined_at"]), lastReadSeq: row["last_read_seq"],
            lastDeliveredSeq: row["last_delivered_seq"])
    }
}

extension Conversation {
    /// Applies a pending change of this user.
    fileprivate mutating func apply(_ change: QueuedChange) {
        switch change.method {
        case .send, .sendFiles:
            // An unsent message is the newest.
            lastMessageContent = change.content?.firstCharacters(200)
            (lastMessageTime, lastMessageSenderID, isLastMessageBlocked) = (change.createdAt, myID, false)
            isMarkedUnread = false
        case .markRead:
            lastReadSeq = max(lastReadSeq, change.seq ?? 0)
            unreadMentions = min(unreadMentions, unreadCount)
            isMarkedUnread = false
        case .pin:
            guard let seq = change.seq, (change.flag("is_pinned") ?? true) != pinnedSeqs.contains(seq) else { return }
            if pinnedSeqs.contains(seq) { pinnedSeqs.removeAll { $0 == seq } } else { pinnedSeqs.insert(seq, at: 0) }
        case .set:
            isMarkedUnread = change.flag("is_marked_unread") ?? isMarkedUnread
            isArchived = change.flag("is_archived") ?? isArchived
            isPinned = change.flag("is_pinned") ?? isPinned
        case .edit, .delete, .react, .save, .fill: break
        }
    }
}
