import Foundation

/// The pictures of one user that wait in the outbox. Each file has the client id of its message.
///
/// A file is written before its change is queued and deleted after the change is removed, so a change always has its
/// file. Files without a change are left after a kill, and deleted at the next launch.
struct OutboxPictures: Sendable {
    let folder: URL

    func url(_ clientID: String) -> URL { folder.appendingPathComponent(clientID) }

    /// Writes a picture to the disk.
    @concurrent
    func write(_ picture: Data, _ clientID: String) async throws {
        try FileManager.default.makePrivateFolder(folder)
        try FileManager.default.writeDurably(picture, to: url(clientID))
    }

    @concurrent
    func read(_ clientID: String) async throws -> Data {
        do {
            return try Data(contentsOf: url(clientID))
        } catch {
            throw PostlineError(
                .invalidParams, "The picture's file cannot be read, so send it again: \(error)", field: "picture")
        }
    }

    func remove(_ clientID: String) { try? FileManager.default.removeItem(at: url(clientID)) }

    /// Deletes the files without a change. Another process of the app may be about to queue the change of a file of the
    /// last hour.
    func removeOrphans(except clientIDs: Set<String>, before limit: Date = Date(timeIntervalSinceNow: -3_600)) {
        for file in files where !clientIDs.contains(file.lastPathComponent) {
            let changedAt = try? file.resourceValues(forKeys: [.contentModificationDateKey]).contentModificationDate
            if let changedAt, changedAt < limit { try? FileManager.default.removeItem(at: file) }
        }
    }

    /// Moves all files to another user's folder. A repetition moves the rest.
    func moveAll(to other: OutboxPictures) throws {
        for file in files {
            try FileManager.default.makePrivateFolder(other.folder)
            try? FileManager.default.removeItem(at: other.url(file.lastPathComponent))
            try FileManager.default.moveItem(at: file, to: other.url(file.lastPathComponent))
        }
    }

    private var files: [URL] {
        (try? FileManager.default.contentsOfDirectory(
            at: folder, includingPropertiesForKeys: [.contentModificationDateKey])) ?? []
    }
}

extension Store {
    /// The pictures that wait in the outbox. They are erased with the store, whose name their folder begins with.
    var outboxPictures: OutboxPictures { OutboxPictures(folder: url.appendingPathExtension("outbox")) }
}
