import Foundation

/// Sending messages with pictures that wait in the outbox.
///
/// The store records the upload before it begins and once it has ended, so that a repetition after a kill or a lost
/// response uses the same URL and the same picture. The message's client id makes the server store it once.
extension SyncEngine {
    /// Uploads the picture of a change unless it is uploaded, and sends the message. Returns nil if the change was
    /// discarded meanwhile.
    func sendPicture(_ change: QueuedChange, _ connection: LineConnection) async throws -> WireMessage? {
        var change = change
        var mayRepeat = true
        while true {
            guard let uploaded = try await upload(change, connection) else { return nil }
            change = uploaded
            do {
                return try await connection.call(QueuedChange.Method.send.rawValue, change.sendParams)
            } catch {
                guard error.field == "attachment.media_id", mayRepeat else { throw error }
                // The upload was incomplete, or the server has removed the picture since, after a day. A message that
                // the server has is not refused.
                mayRepeat = false
                (change.mediaID, change.upload) = (nil, nil)
            }
        }
    }

    /// Uploads the picture of a change unless it is uploaded, and returns the change with the picture's id.
    private func upload(_ change: QueuedChange, _ connection: LineConnection) async throws -> QueuedChange? {
        guard change.mediaID == nil, let clientID = change.clientID else { return change }
        var change = change
        let picture = try await store.outboxPictures.read(clientID)
        let id = Message.ID(clientID)
        defer { report(.uploading(id, nil)) }
        for _ in 0..<2 {
            let upload: MediaUpload
            if let begun = change.upload {
                upload = begun
            } else {
                upload = try await connection.call("media.create", change.mediaParams)
                change.upload = upload
                guard try await record(change) else { return nil }
            }
            switch try await put(picture, upload, id) {
            // With 409 an earlier attempt has used the URL, or is using it. The send finds out.
            case 200..<300, 409:
                change.mediaID = upload.id
                guard try await record(change) else { return nil }
                await pictures?.insert(picture, for: PictureLoader.cacheKey(mediaID: upload.id))
                return change
            // The URL has expired.
            case 403, 404, 410: change.upload = nil
            case let status where status >= 500 || [408, 429].contains(status):
                throw PostlineError(
                    .unavailable, "The store refused the picture with status \(status).", isRetryable: true)
            case let status:
                throw PostlineError(
                    .invalidParams, "The store refused the picture with status \(status).", field: "picture")
            }
        }
        throw PostlineError(.unavailable, "The store refused a new URL for an upload.", isRetryable: true)
    }

    /// Returns the status of the response.
    private func put(_ picture: Data, _ upload: MediaUpload, _ id: Message.ID) async throws -> Int {
        do {
            return try await HTTPTransfer.put(picture, to: upload.upload.url, headers: upload.upload.headers) {
                [report] in report(.uploading(id, $0))
            }
        } catch let error as PostlineError where error.isUncertain {
            // The connection to the server is another. While it lasts, the queue tries again.
            throw PostlineError(.unavailable, error.message, isRetryable: true)
        }
    }

    /// Records the state of the upload. Returns false if the change was discarded.
    private func record(_ change: QueuedChange) async throws -> Bool {
        try await store.write { try $0.update(change) }
    }
}

extension QueuedChange {
    /// The params of `messages.send`. The server knows the URL of an uploaded picture.
    fileprivate var sendParams: [String: JSONValue] {
        var params = params
        params["upload"] = nil
        if case .object(var attachment)? = params["attachment"] {
            attachment["url"] = nil
            params["attachment"] = .object(attachment)
        }
        return params
    }

    /// The params of `media.create`.
    fileprivate var mediaParams: [String: JSONValue] {
        var params: [String: JSONValue] = ["purpose": "message"]
        params["conversation_id"] = self.params["conversation_id"]
        guard case .object(let attachment)? = self.params["attachment"] else { return params }
        for name in ["mime_type", "bytes", "width", "height"] { params[name] = attachment[name] }
        return params
    }
}
