/// Messages that no chat shows: a single one, and the replies to one.
extension PostlineClient {
    /// Returns the replies to a message, a thread, the oldest first.
    ///
    /// - Parameters:
    ///   - message: The message that they answer.
    ///   - before: The oldest reply of the page after, or nil for the newest replies.
    ///   - limit: 1 to 200 replies.
    /// - Returns: The replies before that. Only an empty page is the first one.
    /// - Throws: ``PostlineError``: `offline`, `not_sent`, `not_found`, `invalid_params`, `signed_out`,
    ///   `store_unusable`.
    public func replies(
        to message: Message, before: Message? = nil, limit: Int = 50
    ) async throws(PostlineError) -> [Message] {
        let id = message.conversationID
        var params: [String: JSONValue] = [
            "conversation_id": .id(id), "reply_to_seq": .integer(try seq(of: message)), "limit": .integer(limit),
        ]
        if let before { params["before_seq"] = .integer(try seq(of: before)) }
        return try await fetchMessages(params, in: id)
    }

    /// Returns a message by its number, such as one of ``Conversation/pinnedSeqs``, from the device if it is stored
    /// there. A deleted one has ``Message/deletedAt``.
    ///
    /// - Throws: ``PostlineError``: `not_found` if the user cannot see such a message; `offline` if the device does not
    ///   have it and there is no connection; `signed_out`, `store_unusable`.
    public func message(
        numbered seq: Int, in conversationID: Conversation.ID
    ) async throws(PostlineError) -> Message {
        var found = try await read { try $0.messages(numbered: [seq], in: conversationID) }
        if found.isEmpty, seq > 0 {
            let params: [String: JSONValue] = [
                "conversation_id": .id(conversationID), "after_seq": .integer(seq - 1), "limit": 1,
            ]
            found = try await fetchMessages(params, in: conversationID)
        }
        guard let message = found.first, message.seq == seq else {
            throw PostlineError(.notFound, "There is no such message.")
        }
        return message
    }

    /// Fetches messages by `messages.list`, stores them and returns them, the oldest first.
    private func fetchMessages(
        _ params: [String: JSONValue], in conversationID: Conversation.ID
    ) async throws(PostlineError) -> [Message] {
        let engine = try currentEngine()
        let page = try await engine.call("messages.list", params, as: MessagePage.self)
        var changes = Changes()
        changes.take(page)
        try await apply(changes, from: engine)
        let seqs = page.messages.map(\.seq)
        return try await read { try $0.messages(numbered: seqs, in: conversationID) }
    }
}

/// The answer of `messages.list`.
struct MessagePage: Decodable, Sendable {
    var messages: [WireMessage]
    /// Nil from a server that does not support reactions.
    var reactions: [WireReactions]?
    /// Nil from a server that does not support streaming.
    var pieces: [WirePiece]?
}

extension Changes {
    /// Adds the content of a page.
    mutating func take(_ page: MessagePage) {
        messages += page.messages
        reactions += page.reactions ?? []
        pieces += page.pieces ?? []
    }
}
