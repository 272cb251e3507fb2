import GRDB

/// Reading the part of a conversation that a chat shows.
extension StoreReader {
    /// Returns the content of a window. If the message of the window is not stored, as after a reset, it is that of the
    /// newest messages.
    func content(of window: ChatWindow, in conversationID: Conversation.ID, me: Me?) throws -> ChatContent {
        guard let bounds = try bounds(of: conversationID) else { return ChatContent(window: window) }
        let rows = try rows(of: window, in: conversationID, from: bounds.first)
        let last = rows.last?["seq"] as Int?
        guard let first = rows.first?["seq"] as Int?, let last else {
            if case .around = window {
                return try content(of: .newest(limit: ChatWindow.page), in: conversationID, me: me)
            }
            return ChatContent(
                window: window, messages: try messages([], in: conversationID, withUnsent: true, me: me),
                hasOlder: bounds.first > bounds.oldest && bounds.last >= bounds.oldest)
        }
        var content = ChatContent(window: window, hasOlder: first > bounds.oldest)
        if case .around = window {
            content.hasNewer = last < bounds.last
            // From here on the chat follows the newest messages.
            if !content.hasNewer { content.window = .newest(limit: max(rows.count, ChatWindow.page)) }
        }
        content.messages = try messages(rows, in: conversationID, withUnsent: !content.hasNewer, me: me)
        return content
    }

    /// Returns the pages of a window that the store does not have.
    func missingPages(of window: ChatWindow, in conversationID: Conversation.ID) throws -> [MissingPage] {
        guard let bounds = try bounds(of: conversationID), bounds.last >= bounds.oldest else { return [] }
        let seqs: [Int] = try rows(of: window, in: conversationID, from: bounds.first).map { $0["seq"] }
        switch window {
        case .newest(let limit):
            guard let first = seqs.first else { return [MissingPage(direction: .older, bound: nil, limit: limit)] }
            guard first > bounds.oldest, seqs.count < limit else { return [] }
            return [MissingPage(direction: .older, bound: first, limit: limit - seqs.count)]
        case .around(let seq, let older, let newer):
            // A message that is not stored comes with the older page.
            let first = seqs.first ?? seq + 1
            let last = seqs.last ?? seq
            var pages: [MissingPage] = []
            if first > bounds.oldest, seq - first < older {
                pages.append(MissingPage(direction: .older, bound: first, limit: older - (seq - first)))
            }
            if last < bounds.last, last - seq < newer {
                pages.append(MissingPage(direction: .newer, bound: last, limit: newer - (last - seq)))
            }
            return pages
        }
    }

    /// Returns true if a message is stored.
    func isStored(_ seq: Int, in conversationID: Conversation.ID) throws -> Bool {
        try Bool.fetchOne(
            database.cachedStatement(
                sql: "select exists (select 1 from message where conversation_id = ? and seq = ?)"),
            arguments: [conversationID.rawValue, seq]) == true
    }

    /// Returns the number of a stored message, or nil if there is none with this id.
    func seq(of id: Message.ID, in conversationID: Conversation.ID) throws -> Int? {
        try Int.fetchOne(
            database.cachedStatement(
                sql: """
                    select seq from message
                    where conversation_id = ? and (id = ? or client_id = ? and sender_id = ?)
                    """),
            arguments: [conversationID.rawValue, id.rawValue, id.rawValue, userID.rawValue])
    }

    /// Returns true if a message is in the outbox.
    func isPending(_ id: Message.ID, in conversationID: Conversation.ID) throws -> Bool {
        try changes(queueKey: conversationID.rawValue).contains { $0.method == .send && $0.clientID == id.rawValue }
    }

    /// Returns the number of the oldest message that has not expired, the first number from which messages are stored
    /// without a gap up to the newest, and the number of the newest. Nil if the user is not a member.
    private func bounds(of conversationID: Conversation.ID) throws -> (oldest: Int, first: Int, last: Int)? {
        try Row.fetchOne(
            database.cachedStatement(sql: "select oldest_seq, first_seq, last_seq from conversation where id = ?"),
            arguments: [conversationID.rawValue]
        ).map { ($0["oldest_seq"], $0["first_seq"], $0["last_seq"]) }
    }

    /// Returns the stored messages of a window without a gap, the oldest first.
    private func rows(of window: ChatWindow, in conversationID: Conversation.ID, from first: Int) throws -> [Row] {
        switch window {
        case .newest(let limit):
            return try rows("seq >= ? order by seq desc", first, limit, in: conversationID).reversed()
        case .around(let seq, let older, let newer):
            let below = try rows("seq <= ? order by seq desc", seq, older + 1, in: conversationID)
            let above = try rows("seq > ? order by seq", seq, newer, in: conversationID)
            let start = zip(below, 0...).prefix { $0["seq"] == seq - $1 }.map(\.0)
            guard !start.isEmpty else { return [] }
            return start.reversed() + zip(above, 1...).prefix { $0["seq"] == seq + $1 }.map(\.0)
        }
    }

    private func rows(
        _ condition: String, _ seq: Int, _ limit: Int, in conversationID: Conversation.ID
    ) throws -> [Row] {
        try Row.fetchAll(
            database.cachedStatement(
                sql: "select * from message where conversation_id = ? and \(condition) limit ?"),
            arguments: [conversationID.rawValue, seq, limit])
    }
}
