/// Replies to a message.
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
        let engine = try currentEngine()
        let page = try await engine.call("messages.list", params, as: MessagePage.self)
        var changes = Changes()
        (changes.messages, changes.reactions) = (page.messages, page.reactions ?? [])
        try await apply(changes, from: engine)
        let seqs = page.messages.map(\.seq)
        return try await read { try $0.messages(numbered: seqs, in: id) }
    }
}

/// The answer of `messages.list`.
struct MessagePage: Decodable, Sendable {
    var messages: [WireMessage]
    /// Nil from a server that does not support reactions.
    var reactions: [WireReactions]?
}
