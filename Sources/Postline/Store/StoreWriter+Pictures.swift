import Foundation
import GRDB

/// Pictures in the outbox.
extension StoreWriter {
    /// Adds the message of a picture whose file is written.
    ///
    /// - Throws: ``PostlineError``, `outbox_full`.
    func enqueuePicture(
        _ attachment: Message.Attachment, in conversationID: Conversation.ID, _ params: [String: JSONValue],
        clientID: String, limits: PictureLimits
    ) throws {
        let waiting = try reader.changes().filter { $0.method == .sendPicture }
        let bytes = waiting.reduce(attachment.bytes ?? 0) { $0 + $1.pictureBytes }
        guard waiting.count < limits.waitingPictures else {
            throw PostlineError(
                .outboxFull, "\(waiting.count) pictures wait in the outbox, the limit of waitingPictures.",
                isRetryable: true, field: "picture")
        }
        guard bytes <= limits.waitingBytes else {
            throw PostlineError(
                .outboxFull,
                "With this picture, \(bytes) bytes would wait in the outbox: waitingBytes is \(limits.waitingBytes).",
                isRetryable: true, field: "picture")
        }
        var params = params
        params["attachment"] = try StoreJSON.convert(attachment)
        try enqueue(.sendPicture, queueKey: conversationID.rawValue, params, clientID: clientID)
    }

    /// Records the state of a picture's upload. Returns false if the change was discarded.
    func update(_ change: QueuedChange) throws -> Bool {
        try database.execute(
            sql: "update change set params = ? where id = ?",
            arguments: [try StoreJSON.encode(change.params), change.id])
        return database.changesCount > 0
    }

    /// Deletes a picture's file once this transaction is committed.
    func removePictureAfterCommit(_ clientID: String) {
        database.afterNextTransaction { [pictures = reader.pictures] _ in pictures.remove(clientID) }
    }
}

extension QueuedChange {
    /// The size of the picture.
    var pictureBytes: Int {
        guard case .object(let attachment)? = params["attachment"], case .integer(let bytes)? = attachment["bytes"]
        else {
            return 0
        }
        return bytes
    }

    /// The upload that was begun, or nil before the server expects the picture.
    var upload: MediaUpload? {
        get { params["upload"].flatMap { try? StoreJSON.convert($0) } }
        set { params["upload"] = newValue.flatMap { try? StoreJSON.convert($0) } }
    }

    /// The id of the uploaded picture, or nil before the end of the upload.
    var mediaID: String? {
        get {
            guard case .object(let attachment)? = params["attachment"], case .string(let id)? = attachment["media_id"]
            else { return nil }
            return id
        }
        set {
            guard case .object(var attachment)? = params["attachment"] else { return }
            attachment["media_id"] = newValue.map { .string($0) }
            params["attachment"] = .object(attachment)
        }
    }
}
