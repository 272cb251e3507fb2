/// Pinned messages, and what this user alone sees of a conversation.
extension PostlineClient {
    /// Pins a message for all members (``Conversation/pinnedSeqs``). Both members of a direct conversation may, and the
    /// owner and admins of a group. When it returns, the pin is stored on the device and shown.
    ///
    /// - Throws: ``PostlineError``: `not_sent` if the server does not have the message yet; `not_found` if it is
    ///   deleted; `signed_out`, `store_unusable`.
    public func pin(_ message: Message) async throws(PostlineError) {
        try await enqueue(.pin, of: message, ["is_pinned": true])
    }

    /// Ends the pin of a message.
    ///
    /// - Throws: ``PostlineError``: `not_sent` if the server does not have the message yet; `not_found` if it is
    ///   deleted; `signed_out`, `store_unusable`.
    public func unpin(_ message: Message) async throws(PostlineError) {
        try await enqueue(.pin, of: message, ["is_pinned": false])
    }

    /// Marks a conversation as unread, as a reminder for this user, or ends that. The read mark stays.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func setMarkedUnread(
        _ isMarkedUnread: Bool, of conversationID: Conversation.ID
    ) async throws(PostlineError) {
        try await set("is_marked_unread", to: isMarkedUnread, of: conversationID)
    }

    /// Archives a conversation for this user, or ends that.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func setArchived(_ isArchived: Bool, of conversationID: Conversation.ID) async throws(PostlineError) {
        try await set("is_archived", to: isArchived, of: conversationID)
    }

    /// Pins a conversation at the top of this user's list, or ends that.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func setPinned(_ isPinned: Bool, of conversationID: Conversation.ID) async throws(PostlineError) {
        try await set("is_pinned", to: isPinned, of: conversationID)
    }

    private func set(
        _ name: String, to value: Bool, of conversationID: Conversation.ID
    ) async throws(PostlineError) {
        try await write {
            try $0.enqueue(
                .set, queueKey: conversationID.rawValue,
                ["conversation_id": .id(conversationID), name: .bool(value)])
        }
    }
}
