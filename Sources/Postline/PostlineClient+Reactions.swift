/// Reactions to messages.
extension PostlineClient {
    /// Sets or removes a reaction of this user. When it returns, the reaction is stored on the device and shown.
    ///
    /// - Parameters:
    ///   - message: A message that the server has and that is not deleted.
    ///   - emoji: One emoji, or a name of the app of `a-z 0-9 _ + -`, at most 32 bytes.
    ///   - isSet: False to remove the reaction.
    /// - Throws: ``PostlineError``: `not_sent` if the server does not have the message yet; `not_found` if it is
    ///   deleted; `signed_out`, `store_unusable`.
    public func react(to message: Message, with emoji: String, isSet: Bool = true) async throws(PostlineError) {
        try await enqueue(.react, of: message, ["emoji": .string(emoji), "is_set": .bool(isSet)])
    }

    /// Returns the users who have reacted to a message, the first ones first.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - emoji: The reaction, or nil for all.
    ///   - limit: 1 to 200 reactions.
    ///   - after: The ``ReactionPage/next`` of the page before.
    /// - Throws: ``PostlineError``: `offline`, `not_sent`, `not_found`, `invalid_params`.
    public func reactions(
        to message: Message, emoji: String? = nil, limit: Int = 50, after: String? = nil
    ) async throws(PostlineError) -> ReactionPage {
        var params: [String: JSONValue] = [
            "conversation_id": .id(message.conversationID), "seq": .integer(try seq(of: message)),
            "limit": .integer(limit),
        ]
        if let emoji { params["emoji"] = .string(emoji) }
        if let after { params["after"] = .string(after) }
        return try await call("messages.reactions", params)
    }
}
