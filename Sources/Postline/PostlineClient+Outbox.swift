import Foundation

/// Changes that are stored on the device and sent by the outbox.
extension PostlineClient {
    /// Writes to the store and shows the result.
    func write(
        isDurable: Bool = true, _ body: @Sendable (StoreWriter) throws -> Void
    ) async throws(PostlineError) {
        var store = try currentStore()
        do {
            try await store.write(isDurable: isDurable, body)
        } catch is Store.Replaced {
            // Another process has moved the data to another file.
            await showChangesOfProcesses()
            store = try currentStore()
            try await convertingErrors { try await store.write(isDurable: isDurable, body) }
        } catch {
            if Store.isDamaged(error) { await engine?.stop(afterStoreError: error) }
            throw PostlineError(converting: error)
        }
        engine?.outboxSignal.signal()
        await reload()
    }

    /// Sends a message. When it returns, the message is stored on the device and shown. ``Message/delivery`` says if
    /// the server has it.
    ///
    /// - Parameters:
    ///   - content: 1 to 8,000 characters, or none with attachments. The server refuses other lengths.
    ///   - conversationID: The conversation's id.
    ///   - attachments: At most 10 files that are uploaded (``upload(_:for:progress:)``), or available at a URL.
    ///   - details: The message to answer, mentions, and data of the app.
    /// - Returns: The message's id.
    /// - Throws: ``PostlineError``: `not_sent` if the server does not have the message to answer yet; `invalid_params`
    ///   for a text of more than 8,000 characters, for an empty one without attachments, and for more than 10
    ///   attachments; `signed_out`, `store_unusable`.
    @discardableResult
    public func send(
        _ content: String, in conversationID: Conversation.ID, attachments: [Message.Attachment] = [],
        details: MessageDetails = MessageDetails()
    ) async throws(PostlineError) -> Message.ID {
        let clientID = UUID().uuidString.lowercased()
        var params = try details.params(content, in: conversationID, attachments: attachments)
        params["client_id"] = .string(clientID)
        try await write { [params] writer in
            try writer.enqueue(.send, queueKey: conversationID.rawValue, params, clientID: clientID)
            try writer.setDraft(nil, in: conversationID)
        }
        await engine?.didSend(in: conversationID)
        return Message.ID(clientID)
    }

    /// Edits one of the user's own messages. When it returns, the edit is stored on the device and shown.
    ///
    /// - Parameters:
    ///   - message: The message.
    ///   - content: The new text.
    ///   - mentions: The users to mention, or nil to leave them as they are.
    ///   - mentionsEveryone: True to mention all members of a group, or nil to leave that as it is.
    ///   - data: The app's new data, `.null` to remove it, or nil to leave it as it is.
    /// - Throws: ``PostlineError``: `not_sent` if the server does not have the message yet; `not_found` if it is
    ///   deleted; `invalid_params` for a text of another length; `signed_out`, `store_unusable`.
    public func edit(
        _ message: Message, to content: String, mentions: [User.ID]? = nil, mentionsEveryone: Bool? = nil,
        data: JSONValue? = nil
    ) async throws(PostlineError) {
        try MessageDetails.check(content, mayBeEmpty: message.kind == .custom || !message.attachments.isEmpty)
        var params: [String: JSONValue] = ["content": .string(content)]
        if let mentions { params["mentions"] = .array(mentions.map { .id($0) }) }
        if let mentionsEveryone { params["mentions_everyone"] = .bool(mentionsEveryone) }
        if let data { params["data"] = data }
        try await enqueue(.edit, of: message, params)
    }

    /// Deletes a message for all members. When it returns, the deletion is stored on the device and shown.
    ///
    /// - Throws: ``PostlineError``: `not_sent` if the server does not have the message yet; `signed_out`,
    ///   `store_unusable`.
    public func delete(_ message: Message) async throws(PostlineError) {
        try await enqueue(.delete, of: message, [:])
    }

    /// Queues a change of a message that the server has. One that is deleted can only be deleted again.
    func enqueue(
        _ method: QueuedChange.Method, of message: Message, _ params: [String: JSONValue]
    ) async throws(PostlineError) {
        var params = params
        params["conversation_id"] = .id(message.conversationID)
        params["seq"] = .integer(try seq(of: message))
        guard message.deletedAt == nil || method == .delete else {
            throw PostlineError(.notFound, "The message is deleted.")
        }
        try await write { [params] in
            try $0.enqueue(method, queueKey: message.conversationID.rawValue, params)
        }
    }

    func seq(of message: Message) throws(PostlineError) -> Int {
        guard let seq = message.seq else {
            throw PostlineError(.notSent, "The server does not have this message yet: discard it instead.")
        }
        return seq
    }

    /// Marks a conversation as read up to its newest message. Does nothing if no message is unread, and the
    /// conversation is not marked as unread.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func markRead(_ conversationID: Conversation.ID) async throws(PostlineError) {
        guard let conversation = conversations.first(where: { $0.id == conversationID }),
            conversation.unreadCount > 0 || conversation.isMarkedUnread
        else { return }
        let params: [String: JSONValue] = [
            "conversation_id": .id(conversationID), "seq": .integer(conversation.lastSeq),
        ]
        try await write { try $0.enqueue(.markRead, queueKey: conversationID.rawValue, params) }
    }

    /// Marks a conversation as read up to a message. A mark never goes back, and a message that the server does not
    /// have yet does not move it.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func markRead(upTo message: Message) async throws(PostlineError) {
        let id = message.conversationID
        guard let conversation = conversations.first(where: { $0.id == id }), let seq = message.seq,
            seq > conversation.lastReadSeq
        else { return }
        let params: [String: JSONValue] = ["conversation_id": .id(id), "seq": .integer(seq)]
        try await write { try $0.enqueue(.markRead, queueKey: id.rawValue, params) }
    }

    /// Edits the user's own data. The client sends only the fields that the body changed, as one change.
    ///
    ///     try await client.updateProfile { $0.fullName = "Alice" }
    ///
    /// When it returns, the edit is stored on the device and shown.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func updateProfile(_ body: (inout ProfileEdit) -> Void) async throws(PostlineError) {
        let before = ProfileEdit(me)
        var edit = before
        body(&edit)
        let params = edit.params(since: before)
        guard !params.isEmpty else { return }
        try await write { try $0.enqueue(.save, queueKey: QueuedChange.profileQueueKey, params) }
    }

    /// Stores a value for this user on this device only, such as the time of the last sensor reading. ``deviceData``
    /// shows it. It is never sent. Nil removes it.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func setDeviceData(_ name: String, to value: JSONValue?) async throws(PostlineError) {
        try await write { try $0.setDeviceData(name, to: value) }
    }

    /// Sends a refused change again. Does nothing if there is no such change.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func retryChange(_ change: Int64) async throws(PostlineError) {
        try await write { writer in
            if let change = try writer.reader.change(change) { try writer.setRefusal(of: change, to: nil) }
        }
    }

    /// Removes a pending or refused change from the outbox. A change that is in flight may still be done. The upload of a
    /// message's files ends.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func discardChange(_ change: Int64) async throws(PostlineError) {
        try await write { writer in
            if let change = try writer.reader.change(change) { try writer.remove(change) }
        }
    }
}
