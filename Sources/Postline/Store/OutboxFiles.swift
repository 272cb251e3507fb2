import Foundation

/// The files of one user's messages that wait in the outbox. The name of each begins with the client id of its message.
///
/// A file is written before its change is queued and deleted after the change is removed, so a change always has its
/// files. Files without a change are left after a kill, and deleted at the next launch.
struct OutboxFiles: Sendable {
    let folder: URL

    /// A file of a message, by the place of its attachment.
    enum Part: Sendable, Hashable {
        case file(Int)
        case preview(Int)

        fileprivate var suffix: String {
            switch self {
            // As earlier versions named their only one.
            case .file(0): ""
            case .file(let index): ".\(index)"
            case .preview(let index): ".\(index).preview"
            }
        }
    }

    func url(_ clientID: String, _ part: Part = .file(0)) -> URL {
        folder.appendingPathComponent(clientID + part.suffix)
    }

    /// Writes the files of a message to the disk.
    @concurrent
    func write(_ attachments: [CheckedAttachment], _ clientID: String) async throws {
        try FileManager.default.makePrivateFolder(folder)
        for (index, attachment) in attachments.enumerated() {
            let url = url(clientID, .file(index))
            switch attachment.content {
            case .data(let data): try FileManager.default.writeDurably(data, to: url)
            case .file(let source):
                try Task.checkCancellation()
                try FileManager.default.copyDurably(source, to: url)
                // The server expects the announced size.
                guard try FileContent.file(url).count == attachment.attachment.bytes else {
                    throw PostlineError(
                        .invalidParams, "The file \(source.path) changed while it was read. Send it again.",
                        field: "attachments[\(index)]")
                }
            }
            if let preview = attachment.preview {
                try FileManager.default.writeDurably(preview.data, to: self.url(clientID, .preview(index)))
            }
        }
    }

    /// Returns a file to upload.
    ///
    /// - Throws: ``PostlineError``, `invalid_params`, if the file is missing.
    func content(_ clientID: String, _ part: Part) throws -> FileContent {
        let url = url(clientID, part)
        guard FileManager.default.isReadableFile(atPath: url.path) else {
            throw PostlineError(
                .invalidParams, "The file \(url.path) cannot be read: discard the message, and send it again.",
                field: "attachments[]")
        }
        return .file(url)
    }

    /// Deletes the files of a message.
    func remove(_ clientID: String) {
        for file in files where Self.clientID(of: file) == clientID { try? FileManager.default.removeItem(at: file) }
    }

    /// Deletes the files without a change. Another process of the app may be about to queue the change of a file of the
    /// last hour.
    func removeOrphans(except clientIDs: Set<String>, before limit: Date = Date(timeIntervalSinceNow: -3_600)) {
        for file in files where !clientIDs.contains(Self.clientID(of: file)) {
            let changedAt = try? file.resourceValues(forKeys: [.contentModificationDateKey]).contentModificationDate
            if let changedAt, changedAt < limit { try? FileManager.default.removeItem(at: file) }
        }
    }

    /// Moves all files to another user's folder. A repetition moves the rest.
    func moveAll(to other: OutboxFiles) throws {
        for file in files {
            try FileManager.default.makePrivateFolder(other.folder)
            try? FileManager.default.removeItem(at: other.url(file.lastPathComponent))
            try FileManager.default.moveItem(at: file, to: other.url(file.lastPathComponent))
        }
    }

    private static func clientID(of file: URL) -> String { String(file.lastPathComponent.prefix { $0 != "." }) }

    private var files: [URL] {
        (try? FileManager.default.contentsOfDirectory(
            at: folder, includingPropertiesForKeys: [.contentModificationDateKey])) ?? []
    }
}

extension Store {
    /// The files that wait in the outbox. They are erased with the store, whose name their folder begins with.
    var outboxFiles: OutboxFiles { OutboxFiles(folder: url.appendingPathExtension("outbox")) }
}
