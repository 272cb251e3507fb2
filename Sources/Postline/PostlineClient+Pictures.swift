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
        let type = try Self.supportedType(of: picture)
        let id = try await upload(
            .data(picture),
            ["purpose": "avatar", "mime_type": .string(type), "bytes": .integer(picture.count)])
        var changes = Changes()
        changes.me = try await engine.call(
            "me.set_avatar", ["avatar_type": JSONValue.string("custom"), "media_id": .string(id)])
        try await apply(changes, from: engine)
    }

    private struct MediaURLs: Decodable, Sendable {
        var media: [MediaURL]

        struct MediaURL: Decodable, Sendable {
            var id: String
            var url: URL
        }
    }

    /// Returns the URLs of these messages' files, valid for ten minutes. Files that are deleted, or that the user may not
    /// see, have none. An attachment without a ``Message/Attachment/mediaID`` has its own URL.
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
        pictures = Self.makePictureLoader(folder: store.pictureCacheFolder, limits: fileLimits, client: self)
    }

    /// Ends all downloads and deletes the caches, because the user signs out.
    func retirePictures() async {
        let former = pictures
        pictures = Self.makePictureLoader(limits: fileLimits)
        await former.retire()
    }

    static func makePictureLoader(
        folder: URL? = nil, limits: FileLimits, client: PostlineClient? = nil
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
        guard let type = FileType.picture(picture) else {
            throw PostlineError(.invalidParams, "A picture is JPEG, PNG, WebP, GIF or HEIC.", field: "picture")
        }
        return type
    }
}
