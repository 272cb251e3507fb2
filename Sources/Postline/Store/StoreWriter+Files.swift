import Foundation
import GRDB

/// Files in the outbox.
extension StoreWriter {
    /// Adds a message whose files are written.
    ///
    /// - Parameter field: The field of an error.
    /// - Throws: ``PostlineError``, `outbox_full`.
    func enqueueFiles(
        _ attachments: [CheckedAttachment], in conversationID: Conversation.ID, _ params: [String: JSONValue],
        clientID: String, limits: FileLimits, field: String
    ) throws {
        let waiting = try reader.changes().flatMap(\.files)
        let count = waiting.reduce(attachments.reduce(0) { $0 + $1.fileCount }) { $0 + $1.fileCount }
        let bytes = waiting.reduce(attachments.reduce(0) { $0 + $1.waitingBytes }) { $0 + $1.waitingBytes }
        guard count <= limits.waitingFiles else {
            throw PostlineError(
                .outboxFull,
                "With this message, \(count) files would wait in the outbox: waitingFiles is \(limits.waitingFiles).",
                isRetryable: true, field: field)
        }
        guard bytes <= limits.waitingBytes else {
            throw PostlineError(
                .outboxFull,
                "With this message, \(bytes) bytes would wait in the outbox: waitingBytes is \(limits.waitingBytes).",
                isRetryable: true, field: field)
        }
        var params = params
        params["files"] = try StoreJSON.convert(attachments.map(QueuedFile.init))
        try enqueue(.sendFiles, queueKey: conversationID.rawValue, params, clientID: clientID)
    }

    /// Records the state of the uploads of a change. Returns false if the change was discarded.
    func update(_ change: QueuedChange) throws -> Bool {
        try database.execute(
            sql: "update change set params = ? where id = ?",
            arguments: [try StoreJSON.encode(change.params), change.id])
        return database.changesCount > 0
    }

    /// Deletes the files of a message once this transaction is committed.
    func removeFilesAfterCommit(_ clientID: String) {
        database.afterNextTransaction { [files = reader.files] _ in files.remove(clientID) }
    }
}

/// A file of a message in the outbox, with the state of its upload.
struct QueuedFile: Codable, Sendable {
    /// The attachment. It has the ids of the file and its preview once they are uploaded.
    var attachment: Message.Attachment
    /// The upload that was begun, or nil before the server expects the file.
    var upload: MediaUpload?
    /// The preview, or nil if there is none.
    var preview: Preview?

    struct Preview: Codable, Sendable {
        let mimeType: String
        let bytes: Int
        /// The upload that was begun, or nil before the server expects the preview.
        var upload: MediaUpload?
    }

    init(_ checked: CheckedAttachment) {
        attachment = checked.attachment
        preview = checked.preview.map { Preview(mimeType: $0.mimeType, bytes: $0.data.count) }
    }

    fileprivate var waitingBytes: Int { (attachment.bytes ?? 0) + (preview?.bytes ?? 0) }

    fileprivate var fileCount: Int { preview == nil ? 1 : 2 }
}

extension QueuedChange {
    /// The files of a new message, or none.
    var files: [QueuedFile] {
        get { params["files"].flatMap { try? StoreJSON.convert($0) } ?? [] }
        set { params["files"] = try? StoreJSON.convert(newValue) }
    }
}
