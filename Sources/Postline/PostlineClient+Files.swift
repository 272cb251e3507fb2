public import Foundation
import Foundations

/// Uploads without the outbox, and downloads to files.
extension PostlineClient {
    /// Uploads a file for a conversation and returns an attachment to send there, once, within a day. An upload that is
    /// interrupted continues twice.
    ///
    /// ``send(attachments:text:in:details:)`` does this by the outbox, also without a connection.
    /// ``schedule(_:in:at:attachments:details:)`` needs an upload.
    /// - Parameters:
    ///   - attachment: The file. On Apple's systems a picture is first scaled down to 2,048 pixels.
    ///   - conversationID: The conversation of the message.
    ///   - progress: A function that is called for each uploaded part, on any thread.
    /// - Throws: ``PostlineError``: `invalid_params` with the field for a file that cannot be read, is empty or too large,
    ///   and for other values than the server accepts; `not_found`, `forbidden` if the server stores no files, `offline`,
    ///   `unavailable`, `cancelled`.
    public func upload(
        _ attachment: OutgoingAttachment, for conversationID: Conversation.ID,
        progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws(PostlineError) -> Message.Attachment {
        let checked = try await CheckedAttachment(attachment, limits: fileLimits, field: "attachment")
        var uploaded = checked.attachment
        if let preview = checked.preview {
            let params = Message.Attachment(url: "", mimeType: preview.mimeType, bytes: preview.data.count).mediaParams
            uploaded.previewMediaID = try await upload(
                .data(preview.data), params.merging(["conversation_id": .id(conversationID)]) { $1 })
        }
        uploaded.mediaID = try await upload(
            checked.content, uploaded.mediaParams.merging(["conversation_id": .id(conversationID)]) { $1 },
            progress: progress)
        return uploaded
    }

    /// Creates a file at the server, uploads it to the URL in the response, and returns its id.
    func upload(
        _ content: FileContent, _ params: [String: JSONValue],
        progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws(PostlineError) -> String {
        let created: MediaUpload = try await call("media.create", params)
        var backoff = Backoff.reconnect
        for attempt in 0..<3 {
            let wait = backoff.next()
            if attempt > 0 { try await convertingErrors { try await Task.sleep(for: wait) } }
            do throws(PostlineError) {
                let upload = FileUpload(content: content, upload: created, hasBegun: attempt > 0) { params in
                    try await self.call("media.parts", params)
                }
                let outcome = try await convertingErrors { try await upload.run(progress: progress) }
                if outcome == .stored { return created.id }
                break
            } catch {
                guard error.isRetryable, attempt < 2 else { throw error }
            }
        }
        throw PostlineError(.unavailable, "The store refused the URL of an upload.", isRetryable: true)
    }

    /// Downloads the file of a message to this device. A download that is interrupted continues twice where it stopped, if
    /// the store can do that.
    ///
    ///     let file = URL.temporaryDirectory.appending(path: attachment.suggestedFilename)
    ///     try await client.download(attachment, to: file)
    ///
    /// A cancellation of the task ends it. ``pictures`` loads pictures, with caches.
    /// - Parameters:
    ///   - attachment: One of the message's ``Message/attachments``, or its ``Message/Attachment/preview``.
    ///   - file: The place of the file. An existing file is replaced once the download is complete.
    ///   - progress: A function that is called for each received part, on any thread.
    /// - Throws: ``PostlineError``: `offline`; `not_found` if the file is deleted or the user may not see it;
    ///   `invalid_params` with the field `file` if it cannot be written, or `attachment` if it is larger than announced
    ///   and than ``FileLimits/fileBytes``; `unavailable`, `signed_out`, `cancelled`.
    public func download(
        _ attachment: Message.Attachment, to file: URL,
        progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws(PostlineError) {
        // In the same folder, so that the move at the end is a rename.
        let part = file.deletingLastPathComponent().appendingPathComponent(
            ".\(UUID().uuidString.lowercased()).part")
        defer { try? FileManager.default.removeItem(at: part) }
        if let source = attachment.fileURL {
            try await Self.writing(file) { try FileManager.default.copyDurably(source, to: part) }
        } else {
            // What others say about a file elsewhere is no bound.
            let maxBytes = max(fileLimits.fileBytes, attachment.mediaID == nil ? 0 : attachment.bytes ?? 0)
            let target = try await Self.writing(file) { try PartialFile(part, maxBytes: maxBytes) }
            try await download(attachment, into: target, progress)
            try await Self.writing(file) { try target.close() }
        }
        try await Self.writing(file) {
            guard unsafe rename(part.path, file.path) == 0 else { throw CocoaError(.fileWriteUnknown) }
        }
    }

    private func download(
        _ attachment: Message.Attachment, into target: PartialFile,
        _ progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws(PostlineError) {
        var interruptions = 0
        var former: URL?
        while true {
            guard let url = try await urls(for: [attachment])[attachment], url != former else {
                throw PictureLoader.missing
            }
            do throws(PostlineError) {
                let response = try await convertingErrors {
                    try await HTTPTransfer.get(url, into: .file(target), progress: progress)
                }
                switch response.status {
                case 200..<300: return
                // The URL has expired.
                case 403, 404: former = url
                case 410: throw PictureLoader.missing
                default:
                    throw PostlineError(
                        .unavailable, "The file's server responded with status \(response.status).", isRetryable: true)
                }
            } catch {
                interruptions += 1
                guard error.code == .offline, interruptions < 3 else { throw error }
            }
        }
    }

    /// Runs a body that writes a file, off the main actor.
    @concurrent
    private nonisolated static func writing<Value: Sendable>(
        _ file: URL, _ body: @Sendable () throws -> Value
    ) async throws(PostlineError) -> Value {
        do {
            return try body()
        } catch {
            throw PostlineError(
                .invalidParams, "\"file\" cannot be written: \(file.path) (\(error)). Choose another place.",
                field: "file")
        }
    }
}
