import Foundation

/// Sending messages with files that wait in the outbox.
///
/// The store records each upload before it begins and once it has ended, so that a repetition after a kill or a lost
/// response uses the same URL and the same file. The message's client id makes the server store it once.
extension SyncEngine {
    /// Uploads the files of a change unless they are uploaded, and sends the message. Returns nil if the change was
    /// discarded meanwhile.
    func sendFiles(_ change: QueuedChange, _ connection: LineConnection) async throws -> WireMessage? {
        var change = change
        var renewed: Set<OutboxFiles.Part> = []
        while true {
            guard let uploaded = try await uploadFiles(of: change, connection) else { return nil }
            change = uploaded
            do {
                return try await connection.call(QueuedChange.Method.send.rawValue, try change.sendParams)
            } catch let error as PostlineError {
                guard let part = change.part(named: error.field), renewed.insert(part).inserted else { throw error }
                // The upload was incomplete, or the server has removed the file since, after a day. A message that the
                // server has is not refused.
                change.files[part.index].forgetUpload(of: part)
            }
        }
    }

    /// Uploads the files of a change that are not uploaded, and returns the change with their ids.
    private func uploadFiles(of change: QueuedChange, _ connection: LineConnection) async throws -> QueuedChange? {
        guard let clientID = change.clientID else { return change }
        let id = Message.ID(clientID)
        defer { report(.uploading(id, nil)) }
        var change = change
        let sizes = change.files.map { $0.attachment.bytes ?? 0 }
        let total = sizes.reduce(0, +)
        for index in sizes.indices {
            let before = sizes[..<index].reduce(0, +)
            for part in [OutboxFiles.Part.preview(index), .file(index)] {
                // A preview is small.
                let progress: @Sendable (TransferProgress) -> Void = { [report] progress in
                    guard case .file = part else { return }
                    let done = before + progress.completedBytes
                    report(.uploading(id, TransferProgress(completedBytes: done, totalBytes: total)))
                }
                guard let uploaded = try await upload(part, of: change, clientID, connection, progress) else {
                    return nil
                }
                change = uploaded
            }
        }
        return change
    }

    /// Uploads a file unless it is uploaded, and returns the change with its id. Nil if the change was discarded.
    private func upload(
        _ part: OutboxFiles.Part, of change: QueuedChange, _ clientID: String, _ connection: LineConnection,
        _ progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> QueuedChange? {
        guard change.files[part.index].needsUpload(of: part) else { return change }
        var change = change
        let content = try store.outboxFiles.content(clientID, part)
        for _ in 0..<2 {
            var file = change.files[part.index]
            let begun = file.upload(of: part)
            let upload: MediaUpload
            if let begun {
                upload = begun
            } else {
                upload = try await connection.call("media.create", file.params(of: part, change.params))
                file.setUpload(of: part, to: upload)
                change.files[part.index] = file
                guard try await record(change) else { return nil }
            }
            let transfer = FileUpload(content: content, upload: upload, hasBegun: begun != nil) { params in
                try await connection.call("media.parts", params)
            }
            guard let outcome = try await untilDiscarded(change, { try await transfer.run(progress: progress) }) else {
                return nil
            }
            switch outcome {
            case .stored:
                file.setID(of: part, to: upload.id)
                change.files[part.index] = file
                guard try await record(change) else { return nil }
                if file.isPicture(part), let picture = try? content.read() {
                    await pictures?.insert(picture, for: PictureLoader.cacheKey(mediaID: upload.id))
                }
                return change
            case .expired:
                file.setUpload(of: part, to: nil)
                change.files[part.index] = file
            }
        }
        throw PostlineError(.unavailable, "The store refused a new URL for an upload.", isRetryable: true)
    }

    /// Runs an upload, which ends if its change is discarded. The result is nil then.
    private func untilDiscarded(
        _ change: QueuedChange, _ upload: @escaping @Sendable () async throws -> FileUpload.Outcome
    ) async throws -> FileUpload.Outcome? {
        let signal = AsyncSignal()
        uploads[change.id] = signal
        defer { uploads[change.id] = nil }
        // The change may have been discarded before.
        try await endDiscardedUploads()
        let outcome = try await withThrowingTaskGroup(of: FileUpload.Outcome?.self) { group in
            defer { group.cancelAll() }
            group.addTask { try await upload() }
            group.addTask {
                await signal.wait()
                return nil
            }
            return try await group.next() ?? nil
        }
        if outcome == nil { try Task.checkCancellation() }
        return outcome
    }

    /// Ends the uploads whose changes were discarded.
    func endDiscardedUploads() async throws {
        guard !uploads.isEmpty else { return }
        let ids = Set(try await store.read { try $0.changes().map(\.id) })
        for (id, signal) in uploads where !ids.contains(id) { signal.signal() }
    }

    /// Records the state of the uploads. Returns false if the change was discarded.
    private func record(_ change: QueuedChange) async throws -> Bool {
        try await store.write { try $0.update(change) }
    }
}

extension OutboxFiles.Part {
    /// The place of the attachment.
    fileprivate var index: Int {
        switch self {
        case .file(let index), .preview(let index): index
        }
    }
}

extension QueuedChange {
    /// The params of `messages.send` once all files are uploaded.
    fileprivate var sendParams: [String: JSONValue] {
        get throws {
            var params = params
            params["files"] = nil
            let objects = try attachments.map { try StoreJSON.convert($0) as JSONValue }
            // All servers know a single attachment.
            if objects.count == 1 { params["attachment"] = objects[0] } else { params["attachments"] = .array(objects) }
            return params.withoutUploadedURLs
        }
    }

    /// Returns the uploaded file that an error names, such as `attachments[1].media_id`, or nil.
    fileprivate func part(named field: String?) -> OutboxFiles.Part? {
        for index in files.indices {
            for path in ["attachment.", "attachments[\(index)]."] {
                if field == path + "media_id" { return .file(index) }
                if field == path + "preview_media_id" { return .preview(index) }
            }
        }
        return nil
    }
}

extension QueuedFile {
    fileprivate func needsUpload(of part: OutboxFiles.Part) -> Bool {
        switch part {
        case .file: attachment.mediaID == nil
        case .preview: preview != nil && attachment.previewMediaID == nil
        }
    }

    /// Returns the upload that was begun, or nil.
    fileprivate func upload(of part: OutboxFiles.Part) -> MediaUpload? {
        switch part {
        case .file: upload
        case .preview: preview?.upload
        }
    }

    fileprivate mutating func setUpload(of part: OutboxFiles.Part, to begun: MediaUpload?) {
        switch part {
        case .file: upload = begun
        case .preview: preview?.upload = begun
        }
    }

    fileprivate mutating func setID(of part: OutboxFiles.Part, to id: String?) {
        switch part {
        case .file: attachment.mediaID = id
        case .preview: attachment.previewMediaID = id
        }
    }

    fileprivate mutating func forgetUpload(of part: OutboxFiles.Part) {
        setUpload(of: part, to: nil)
        setID(of: part, to: nil)
    }

    fileprivate func isPicture(_ part: OutboxFiles.Part) -> Bool {
        switch part {
        case .file: attachment.kind == .image
        case .preview: true
        }
    }

    /// The params of `media.create`.
    fileprivate func params(of part: OutboxFiles.Part, _ message: [String: JSONValue]) -> [String: JSONValue] {
        var params = attachment.mediaParams
        if case .preview = part {
            params = Message.Attachment(url: "", mimeType: preview?.mimeType, bytes: preview?.bytes).mediaParams
        }
        params["conversation_id"] = message["conversation_id"]
        return params
    }
}

extension Message.Attachment {
    /// The params of `media.create`, without the conversation.
    var mediaParams: [String: JSONValue] {
        var params: [String: JSONValue] = [
            "purpose": "message", "mime_type": .string(mimeType ?? FileType.binary), "bytes": .integer(bytes ?? 0),
        ]
        if let width { params["width"] = .integer(width) }
        if let height { params["height"] = .integer(height) }
        if let name { params["name"] = .string(name) }
        return params
    }
}
