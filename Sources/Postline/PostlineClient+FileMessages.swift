public import Foundation

/// Messages with files that wait in the outbox.
extension PostlineClient {
    /// Sends 1 to 10 files of any kind as one message. When it returns, the message and its files are stored on the device
    /// and shown; they are sent as soon as there is a connection, in order with the conversation's other messages.
    ///
    /// A file is copied, and uploaded in parts; an upload that was interrupted continues where it stopped.
    /// ``Message/delivery`` says if the server has the message, and ``uploadProgress`` how much is uploaded.
    /// ``discardChange(_:)`` ends the upload. Until the message is sent, ``Message/Attachment/fileURL`` is the file on
    /// this device, and ``pictures`` loads pictures too. It is deleted once the message is sent or discarded, or by a
    /// sign-out that erases the user's data.
    ///
    /// On Apple's systems a picture is first scaled down to 2,048 pixels, unless it is animated. To send it as it is, set
    /// its type to `application/octet-stream`.
    /// - Parameters:
    ///   - attachments: The files. The first one sets the message's kind.
    ///   - text: A text of at most 8,000 characters.
    ///   - conversationID: The conversation's id.
    ///   - details: The message to answer, mentions, and data of the app.
    /// - Returns: The message's id.
    /// - Throws: ``PostlineError``: `invalid_params` with the field, such as `attachments[1].name`, for a file that cannot
    ///   be read, is empty or larger than ``FileLimits`` permit, and for other values than the server accepts;
    ///   `outbox_full` if too many files wait; `not_sent` if the server does not have the message to answer yet;
    ///   `signed_out`, `store_unusable`, `cancelled`.
    @discardableResult
    public func send(
        attachments: [OutgoingAttachment], text: String = "", in conversationID: Conversation.ID,
        details: MessageDetails = MessageDetails()
    ) async throws(PostlineError) -> Message.ID {
        try await send(attachments, text: text, in: conversationID, details, outboxField: "attachments") {
            "attachments[\($0)]"
        }
    }

    /// Sends a picture, as ``send(attachments:text:in:details:)`` sends files of any kind.
    ///
    /// - Parameters:
    ///   - picture: A JPEG, PNG, WebP, GIF or HEIC file.
    ///   - text: A text of at most 8,000 characters.
    ///   - conversationID: The conversation's id.
    ///   - width: The width in pixels, if known.
    ///   - height: The height in pixels, if known.
    ///   - blurhash: A placeholder to show until the picture is loaded.
    ///   - details: The message to answer, mentions, and data of the app.
    /// - Returns: The message's id.
    /// - Throws: ``PostlineError``: `invalid_params` for another format or a picture that is larger than
    ///   ``FileLimits/pictureBytes``; `outbox_full` if too many files wait; `not_sent` if the server does not have the
    ///   message to answer yet; `signed_out`, `store_unusable`.
    @discardableResult
    public func send(
        picture: Data, text: String = "", in conversationID: Conversation.ID, width: Int? = nil, height: Int? = nil,
        blurhash: String? = nil, details: MessageDetails = MessageDetails()
    ) async throws(PostlineError) -> Message.ID {
        _ = try Self.supportedType(of: picture)
        var attachment = OutgoingAttachment(picture)
        (attachment.width, attachment.height, attachment.blurhash) = (width, height, blurhash)
        return try await send([attachment], text: text, in: conversationID, details, outboxField: "picture") { _ in
            "picture"
        }
    }

    private func send(
        _ attachments: [OutgoingAttachment], text: String, in conversationID: Conversation.ID,
        _ details: MessageDetails, outboxField: String, field: @Sendable (Int) -> String
    ) async throws(PostlineError) -> Message.ID {
        let store = try currentStore()
        // The server would refuse it only after the upload.
        try MessageDetails.check(text, mayBeEmpty: true, field: "text")
        let checked = try await CheckedAttachment.checking(attachments, limits: fileLimits, field: field)
        var params = try details.params(text, in: conversationID, attachments: checked.map(\.attachment))
        // They are added once they are uploaded.
        (params["attachment"], params["attachments"]) = (nil, nil)
        let clientID = UUID().uuidString.lowercased()
        params["client_id"] = .string(clientID)
        do {
            try await store.outboxFiles.write(checked, clientID)
            guard store === self.store else { throw PostlineError(.signedOut, "The user has signed out meanwhile.") }
            try await write { [params, fileLimits] writer in
                try writer.enqueueFiles(
                    checked, in: conversationID, params, clientID: clientID, limits: fileLimits, field: outboxField)
                try writer.setDraft(nil, in: conversationID)
            }
        } catch {
            // The message is not queued.
            store.outboxFiles.remove(clientID)
            throw PostlineError(converting: error)
        }
        await engine?.didSend(in: conversationID)
        return Message.ID(clientID)
    }

    /// Deletes the files whose messages were not queued because the app was killed.
    func removeOrphanedFiles(in store: Store) {
        guard FileManager.default.fileExists(atPath: store.outboxFiles.folder.path),
            let clientIDs = try? store.readNow({ try $0.changes().compactMap(\.clientID) })
        else { return }
        store.outboxFiles.removeOrphans(except: Set(clientIDs))
    }
}
