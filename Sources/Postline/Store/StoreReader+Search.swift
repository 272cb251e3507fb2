import GRDB

/// Searching the stored messages.
extension StoreReader {
    /// Returns the stored messages with all words of a text, the newest first: of one conversation or of one sender if
    /// given. Deleted messages, events, messages that are streaming, and hidden ones of blocked users are not found.
    func searchMessages(
        _ text: String, in conversationID: Conversation.ID?, from senderID: User.ID?, limit: Int
    ) throws -> [Message] {
        guard let query = SearchWords.query(for: text) else { return [] }
        let rows = try Row.fetchAll(
            database.cachedStatement(
                sql: """
                    select m.*
                      from message_search
                      join message_text t on t.id = message_search.rowid
                      join message m on m.conversation_id = t.conversation_id and m.seq = t.seq
                      join conversation c on c.id = m.conversation_id
                     where message_search match ? and m.streamed is null
                       and (c.kind = 'direct' or m.sender_id not in (select user_id from blocked))
                       and m.conversation_id = coalesce(?, m.conversation_id)
                       and m.sender_id = coalesce(?, m.sender_id)
                     order by m.created_at desc, m.id desc limit ?
                    """),
            arguments: [query, conversationID?.rawValue, senderID?.rawValue, limit])
        let me = try me()
        return try Dictionary(grouping: rows) { $0.id("conversation_id") as Conversation.ID }
            .flatMap { id, rows in try messages(rows, in: id, withUnsent: false, me: me) }
            .filter { $0.deletedAt == nil }.newestFirst()
    }
}

extension [Message] {
    /// Returns the messages in the order of a search.
    func newestFirst() -> [Message] {
        sorted { ($0.createdAt, $0.id.rawValue) > ($1.createdAt, $1.id.rawValue) }
    }
}
