import Foundation

/// What is done here, and told the server later.
extension PostlineClient {
    /// Writes to the store, and shows it before it returns.
    func write(isDurable: Bool = true, _ body: @Sendable (StoreWriter) throws -> Void) async throws {
        let store = try currentStore()
        do {
            try await store.write(isDurable: isDurable, body)
            engine?.wakeOutbox()
            await reload()
        } catch let error as PostlineError {
            throw error
        } catch is CancellationError {
            // The caller's task was cancelled: nothing is written, and nothing is wrong with the store.
            throw CancellationError()
        } catch let error as EncodingError {
            throw PostlineError(.invalidParams, "This cannot be said in JSON: \(error)")
        } catch {
            throw PostlineError(.storeUnusable, "The store \(store.url.path) cannot be written: \(error)")
        }
    }

    /// Sends a message. It is stored on the device when this returns, and shown; how far it has come is the message's
    /// ``Message/delivery``.
    ///
    /// - Parameters:
    ///   - content: 1 to 8,000 characters, or none with a picture. The server refuses others.
    ///   - conversationID: where to.
    ///   - attachment: a picture.
    /// - Returns: the message's id.
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    @discardableResult
    public func send(
        _ content: String, in conversationID: String, attachment: Message.Attachment? = nil
    ) async throws -> String {
        let clientID = UUID().uuidString.lowercased()
        var params: [String: JSONValue] = [
            "conversation_id": .string(conversationID), "content": .string(content), "client_id": .string(clientID),
        ]
        if let attachment {
            params["kind"] = "image"
            params["attachment"] = try StoreJSON.decode(try StoreJSON.encode(attachment))
        }
        try await write { [params] writer in
            try writer.enqueue(.send, queueKey: conversationID, params, clientID: clientID)
            try writer.setDraft(nil, in: conversationID)
        }
        await engine?.didSend(in: conversationID)
        return clientID
    }

    /// Changes a message of the user's own. It is stored on the device when this returns, and shown.
    ///
    /// - Throws: ``PostlineError``: `not_found` for a message that the server does not have yet; `signed_out`,
    ///   `store_unusable`.
    public func edit(_ message: Message, to content: String) async throws {
        let params: [String: JSONValue] = [
            "conversation_id": .string(message.conversationID), "seq": .integer(try seq(of: message)),
            "content": .string(content),
        ]
        try await write { try $0.enqueue(.edit, queueKey: message.conversationID, params) }
    }

    /// Deletes a message for everybody. It is stored on the device when this returns, and shown.
    ///
    /// - Throws: ``PostlineError``: `not_found` for a message that the server does not have yet; `signed_out`,
    ///   `store_unusable`.
    public func delete(_ message: Message) async throws {
        let params: [String: JSONValue] = [
            "conversation_id": .string(message.conversationID), "seq": .integer(try seq(of: message)),
        ]
        try await write { try $0.enqueue(.delete, queueKey: message.conversationID, params) }
    }

    func seq(of message: Message) throws -> Int {
        guard let seq = message.seq else {
            throw PostlineError(.notFound, "The server does not have this message yet: discard it instead.")
        }
        return seq
    }

    /// Notes that the user has read a conversation, up to its newest message. Where nothing is unread it does nothing.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func markRead(_ conversationID: String) async throws {
        guard let conversation = conversations.first(where: { $0.id == conversationID }), conversation.unreadCount > 0
        else { return }
        let params: [String: JSONValue] = [
            "conversation_id": .string(conversationID), "seq": .integer(conversation.lastSeq),
        ]
        try await write { try $0.enqueue(.markRead, queueKey: conversationID, params) }
    }

    /// Notes that the user has read a conversation up to a message. A mark never goes back, and a message that the server
    /// does not have yet moves none.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func markRead(upTo message: Message) async throws {
        let id = message.conversationID
        guard let conversation = conversations.first(where: { $0.id == id }), let seq = message.seq,
            seq > conversation.lastReadSeq
        else { return }
        let params: [String: JSONValue] = ["conversation_id": .string(id), "seq": .integer(seq)]
        try await write { try $0.enqueue(.markRead, queueKey: id, params) }
    }

    /// Changes the user's own data: the fields that the body changes and no others, all of them or none.
    ///
    ///     try await client.updateProfile { $0.fullName = "Alice" }
    ///
    /// It is stored on the device when this returns, and shown.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func updateProfile(_ body: (inout ProfileEdit) -> Void) async throws {
        let before = ProfileEdit(me)
        var edit = before
        body(&edit)
        let params = edit.params(since: before)
        guard !params.isEmpty else { return }
        try await write { try $0.enqueue(.save, queueKey: QueuedChange.profileQueueKey, params) }
    }

    /// Keeps something that only this device is to know of the user, such as when the app last read a sensor: with the
    /// user's store, shown as ``deviceData``, and never sent. With nil it is forgotten.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func setDeviceData(_ name: String, to value: JSONValue?) async throws {
        try await write { try $0.setDeviceData(name, to: value) }
    }

    /// Tries what was refused again. Where there is no such change it does nothing.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func retryChange(_ change: Int64) async throws {
        try await write { writer in
            if let change = try writer.reader.change(change) { try writer.setRefusal(of: change, to: nil) }
        }
    }

    /// Gives up what waits or was refused. It may be done nevertheless, where it is on its way.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func discardChange(_ change: Int64) async throws {
        try await write { writer in
            if let change = try writer.reader.change(change) { try writer.remove(change) }
        }
    }
}
