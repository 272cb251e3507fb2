public import Foundation

/// Pictures. Their bytes are uploaded to and downloaded from the server's store by separate HTTP requests.
extension PostlineClient {
    /// Uploads a picture and makes it the user's avatar, which all users see.
    ///
    /// On Apple's systems the picture is first scaled down to 512 pixels.
    /// - Parameter picture: A JPEG, PNG, WebP, GIF or HEIC file.
    /// - Throws: ``PostlineError``: `invalid_params` for another format or a picture that is too large, `forbidden` if
    ///   the server stores no pictures, `offline`.
    public func setAvatar(_ picture: Data) async throws(PostlineError) {
        let picture = await Platform.scaled(picture, toPixels: 512)
        let engine = try currentEngine()
        let (id, _) = try await upload(picture, ["purpose": "avatar"])
        var changes = Changes()
        changes.me = try await engine.call(
            "me.set_avatar", ["avatar_type": JSONValue.string("custom"), "media_id": .string(id)])
        try await apply(changes, from: engine)
    }

    /// Uploads a picture for a conversation and returns an attachment to send there, once, within a day.
    ///
    /// On Apple's systems the picture is first scaled down to 2,048 pixels.
    /// - Parameters:
    ///   - picture: A JPEG, PNG, WebP, GIF or HEIC file.
    ///   - conversationID: The conversation of the message.
    ///   - width: The width in pixels, if known.
    ///   - height: The height in pixels, if known.
    ///   - blurhash: A placeholder to show until the picture is loaded.
    /// - Throws: ``PostlineError``: `invalid_params` for another format or a picture that is too large, `not_found`,
    ///   `forbidden` if the server stores no pictures, `offline`.
    public func upload(
        _ picture: Data, for conversationID: Conversation.ID, width: Int? = nil, height: Int? = nil,
        blurhash: String? = nil
    ) async throws(PostlineError) -> Message.Attachment {
        let picture = await Platform.scaled(picture, toPixels: 2_048)
        var params: [String: JSONValue] = ["purpose": "message", "conversation_id": .id(conversationID)]
        if let width { params["width"] = .integer(width) }
        if let height { params["height"] = .integer(height) }
        let (id, type) = try await upload(picture, params)
        return Message.Attachment(
            mediaID: id, mimeType: type, width: width, height: height, bytes: picture.count, blurhash: blurhash)
    }

    /// Creates a picture at the server, uploads it to the URL in the response, and returns its id and type.
    private func upload(
        _ picture: Data, _ params: [String: JSONValue]
    ) async throws(PostlineError) -> (id: String, type: String) {
        let type = try Self.supportedType(of: picture)
        var params = params
        params["mime_type"] = .string(type)
        params["bytes"] = .integer(picture.count)
        let created: MediaUpload = try await call("media.create", params)
        let status = try await convertingErrors {
            try await HTTPTransfer.put(picture, to: created.upload.url, headers: created.upload.headers)
        }
        guard 200..<300 ~= status else {
            throw PostlineError(
                .unavailable, "The store refused the picture with status \(status).", isRetryable: true)
        }
        return (created.id, type)
    }

    private struct MediaURLs: Decodable, Sendable {
        var media: [MediaURL]

        struct MediaURL: Decodable, Sendable {
            var id: String
            var url: URL
        }
    }

    /// Returns the URLs of these messages' pictures, valid for ten minutes. Pictures that are deleted, or that the user
    /// may not see, have none. An attachment without a ``Message/Attachment/mediaID`` has its own URL.
    ///
    /// - Throws: ``PostlineError``, `offline`.
    public func urls(for attachments: [Message.Attachment]) async throws(PostlineError) -> [Message.Attachment: URL] {
        var found: [Message.Attachment: URL] = [:]
        for attachment in attachments where attachment.mediaID == nil {
            found[attachment] = URL(string: attachment.url)
        }
        let kept = attachments.filter { $0.mediaID != nil }
        for start in stride(from: 0, to: kept.count, by: 100) {
            let some = kept[start..<min(start + 100, kept.count)]
            let answer: MediaURLs = try await call(
                "media.urls", ["ids": .array(some.compactMap { $0.mediaID.map(JSONValue.string) })])
            let urls = Dictionary(answer.media.map { ($0.id, $0.url) }) { first, _ in first }
            for attachment in some { found[attachment] = attachment.mediaID.flatMap { urls[$0] } }
        }
        return found
    }

    /// Replaces the loader if another user's store is open.
    func updatePictureLoader() {
        guard let store, store.pictureCacheFolder != pictures.cache?.folder else { return }
        pictures.cancel()
        pictures = Self.makePictureLoader(folder: store.pictureCacheFolder, limits: pictureLimits, client: self)
    }

    /// Ends all downloads and deletes the caches, because the user signs out.
    func retirePictures() async {
        let former = pictures
        pictures = Self.makePictureLoader(limits: pictureLimits)
        await former.retire()
    }

    static func makePictureLoader(
        folder: URL? = nil, limits: PictureLimits, client: PostlineClient? = nil
    ) -> PictureLoader {
        PictureLoader(folder: folder, limits: limits) { [weak client] attachments in
            guard let client else { throw PostlineError(.signedOut, "The client is released.") }
            return try await client.urls(for: attachments)
        }
    }

    /// Returns the MIME type of a picture to send.
    ///
    /// - Throws: ``PostlineError``, `invalid_params` for another format.
    static func supportedType(of picture: Data) throws(PostlineError) -> String {
        guard let type = type(of: picture) else {
            throw PostlineError(.invalidParams, "A picture is JPEG, PNG, WebP, GIF or HEIC.", field: "picture")
        }
        return type
    }

    /// Returns the MIME type of a picture by its first bytes, or nil if it is unknown.
    nonisolated static func type(of picture: Data) -> String? {
        let bytes = Array(picture.prefix(12))
        func has(_ text: String, at offset: Int = 0) -> Bool { bytes.dropFirst(offset).starts(with: text.utf8) }
        if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
        if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47]) { return "image/png" }
        if has("GIF8") { return "image/gif" }
        if has("RIFF"), has("WEBP", at: 8) { return "image/webp" }
        return has("ftyp", at: 4) ? "image/heic" : nil
    }
}
