public import Foundation

/// Messages with pictures that wait in the outbox.
extension PostlineClient {
    /// Sends a picture. When it returns, the message and its picture are stored on the device and shown; they are sent
    /// as soon as there is a connection, in order with the conversation's other messages.
    ///
    /// ``Message/delivery`` says if the server has the message, and ``uploadProgress`` how much of the picture is
    /// uploaded. Until then ``Message/Attachment/fileURL`` is the picture's file, which ``pictures`` loads too. It is
    /// deleted once the message is sent or discarded, or by a sign-out that erases the user's data.
    ///
    /// On Apple's systems the picture is first scaled down to 2,048 pixels, unless it is animated.
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
    ///   ``PictureLimits/pictureBytes``; `outbox_full` if too many pictures wait; `not_found` if the server does not
    ///   have the message to answer yet; `signed_out`, `store_unusable`.
    @discardableResult
    public func send(
        picture: Data, text: String = "", in conversationID: Conversation.ID, width: Int? = nil, height: Int? = nil,
        blurhash: String? = nil, details: MessageDetails = MessageDetails()
    ) async throws(PostlineError) -> Message.ID {
        let store = try currentStore()
        let details = try details.params()
        let picture = await Platform.scaled(picture, toPixels: 2_048)
        let type = try Self.supportedType(of: picture)
        guard picture.count <= pictureLimits.pictureBytes else {
            throw PostlineError(
                .invalidParams, "The picture has \(picture.count) bytes, more than \(pictureLimits.pictureBytes).",
                field: "picture")
        }
        let clientID = UUID().uuidString.lowercased()
        var attachment = Message.Attachment(
            url: "", mimeType: type, width: width, height: height, bytes: picture.count)
        attachment.blurhash = blurhash
        do {
            try await store.outboxPictures.write(picture, clientID)
            guard store === self.store else { throw PostlineError(.signedOut, "The user has signed out meanwhile.") }
            try await write { [attachment, pictureLimits] writer in
                try writer.enqueuePicture(
                    attachment, in: conversationID,
                    details.merging([
                        "conversation_id": .id(conversationID), "content": .string(text),
                        "client_id": .string(clientID), "kind": "image",
                    ]) { $1 }, clientID: clientID, limits: pictureLimits)
                try writer.setDraft(nil, in: conversationID)
            }
        } catch {
            // The message is not queued.
            store.outboxPictures.remove(clientID)
            throw PostlineError(converting: error)
        }
        await engine?.didSend(in: conversationID)
        return Message.ID(clientID)
    }

    /// Deletes the files of pictures whose messages were not queued because the app was killed.
    func removeOrphanedPictures(in store: Store) {
        guard FileManager.default.fileExists(atPath: store.outboxPictures.folder.path),
            let clientIDs = try? store.readNow({ try $0.changes().compactMap(\.clientID) })
        else { return }
        store.outboxPictures.removeOrphans(except: Set(clientIDs))
    }
}
