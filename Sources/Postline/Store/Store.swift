import Foundation
import GRDB

/// One user's data on this device and its outbox, in one SQLite file.
///
/// Changes and their cursor are written in one transaction, so that a kill at any moment keeps both or neither.
final class Store: Sendable {
    let userID: User.ID
    let url: URL
    /// The id of this opened store among those of other processes, or nil if no other process uses the file.
    let sharedID: String?
    /// The file's inode, or nil if no other process replaces the file.
    let inode: UInt64?
    private let database: DatabasePool

    /// Opens the user's file in the folder, or creates it.
    ///
    /// A damaged file is set aside, and its readable unsynced data is copied into a new one.
    ///
    /// - Parameter isShared: True if several processes use the file at the same time. The caller has the folder's lock.
    /// - Throws: ``PostlineError``, `store_unusable`.
    init(folder: URL, userID: User.ID, isShared: Bool = false) throws {
        self.userID = userID
        sharedID = isShared ? UUID().uuidString : nil
        url = Self.url(folder, userID)
        do {
            try FileManager.default.makePrivateFolder(folder)
            do {
                database = try Self.open(url)
            } catch  where Self.isDamaged(error) {
                try Self.replaceDamaged(folder, userID)
                database = try Self.open(url)
            }
            inode = isShared ? FileIdentity(url)?.inode : nil
        } catch let error as PostlineError {
            throw error
        } catch {
            throw PostlineError(.storeUnusable, "The store \(url.path) cannot be used: \(error)")
        }
    }

    static func url(_ folder: URL, _ userID: User.ID) -> URL { folder.appendingPathComponent("\(userID).sqlite") }

    private static func open(_ url: URL) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.label = "postline"
        configuration.maximumReaderCount = 2
        configuration.busyMode = .timeout(10)
        configuration.prepareDatabase { database in
            // 2,000 KiB of page cache.
            try database.execute(sql: "pragma synchronous = full; pragma cache_size = -2000")
        }
        let database = try DatabasePool(path: url.path, configuration: configuration)
        let migrator = StoreSchema.migrator
        if try database.read(migrator.hasBeenSuperseded) {
            throw PostlineError(.storeUnusable, "The store \(url.path) was made by a newer version of this app.")
        }
        try migrator.migrate(database)
        return database
    }

    /// Returns true for an error of a file that is not a database or is damaged.
    static func isDamaged(_ error: any Error) -> Bool {
        guard let error = error as? DatabaseError else { return false }
        return [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode.primaryResultCode)
    }

    /// Returns true for an error of a store that another task has closed.
    static func isClosed(_ error: any Error) -> Bool {
        // GRDB, `DatabaseReader.close()`: later accesses throw this code.
        (error as? DatabaseError)?.resultCode.primaryResultCode == .SQLITE_MISUSE
    }

    /// Sets a damaged file aside, and creates a new one with its readable unsynced data.
    static func replaceDamaged(_ folder: URL, _ userID: User.ID) throws {
        let url = url(folder, userID)
        let saved = readableUnsyncedData(in: url)
        let aside = url.appendingPathExtension("damaged")
        for suffix in ["", "-wal", "-shm"] {
            try? FileManager.default.removeItem(atPath: aside.path + suffix)
            if FileManager.default.fileExists(atPath: url.path + suffix) {
                try FileManager.default.moveItem(atPath: url.path + suffix, toPath: aside.path + suffix)
            }
        }
        let new = try Store(folder: folder, userID: userID)
        try new.writeNow { try $0.importUnsynced(saved, fillingOnly: false) }
        try new.close(erasing: false)
    }

    /// Returns the unsynced data of a damaged file, as far as its rows can be read.
    private static func readableUnsyncedData(in url: URL) -> UnsyncedData {
        var found = UnsyncedData()
        guard let database = try? DatabaseQueue(path: url.path) else { return found }
        func read(_ sql: String, _ body: (Row) throws -> Void) {
            try? database.read { database in
                let rows = try Row.fetchCursor(database, sql: sql)
                while let row = try rows.next() { try? body(row) }
            }
        }
        read("select * from change order by id") { row in
            if let change = try QueuedChange(row) { found.changes.append(change) }
        }
        read("select conversation_id, content from draft") { found.drafts[Conversation.ID($0[0])] = $0[1] }
        read("select name, value from device_data") { found.data[$0[0]] = try StoreJSON.decode($0[1]) as JSONValue }
        return found
    }

    /// Reads a consistent snapshot of the store.
    func read<Value: Sendable>(_ body: @Sendable (StoreReader) throws -> Value) async throws -> Value {
        let (userID, files) = (userID, outboxFiles)
        return try await database.read { try body(StoreReader(database: $0, userID: userID, files: files)) }
    }

    /// Reads a consistent snapshot synchronously, for the first view of an app.
    func readNow<Value>(_ body: (StoreReader) throws -> Value) throws -> Value {
        try database.read { try body(StoreReader(database: $0, userID: userID, files: outboxFiles)) }
    }

    /// Writes to the store in one transaction.
    ///
    /// - Parameter isDurable: True to flush to disk before this returns. Data that is stored with its cursor needs no
    ///   flush (SQLite, `pragma synchronous`): if both are lost, the server sends it again.
    @discardableResult
    func write<Value: Sendable>(
        isDurable: Bool = true, _ body: @Sendable (StoreWriter) throws -> Value
    ) async throws -> Value {
        let (userID, files) = (userID, outboxFiles)
        return try await database.writeWithoutTransaction { database in
            try database.execute(sql: isDurable ? "pragma synchronous = full" : "pragma synchronous = normal")
            var value: Value?
            try database.inTransaction {
                // Another process replaces or erases the file in a transaction, so it cannot do so before the commit.
                if self.isReplaced { throw Replaced() }
                value = try body(
                    StoreWriter(reader: StoreReader(database: database, userID: userID, files: files)))
                return .commit
            }
            guard let value else { throw CancellationError() }
            return value
        }
    }

    /// Writes in one transaction synchronously, before anything else uses the store.
    func writeNow(_ body: (StoreWriter) throws -> Void) throws {
        try database.write { database in
            try body(StoreWriter(reader: StoreReader(database: database, userID: userID, files: outboxFiles)))
        }
    }

    /// Runs a body outside of a transaction with the connection that writes.
    func withWriteConnection<Value: Sendable>(_ body: @Sendable (Database) throws -> Value) async throws -> Value {
        try await database.writeWithoutTransaction(body)
    }

    /// Closes the file and optionally erases it.
    func close(erasing: Bool) throws {
        // A write of another process is in the file before, or fails.
        if erasing, sharedID != nil { try? database.write { _ in try erase() } }
        try database.close()
        if erasing { try erase() }
    }

    /// Erases the file and all that belongs to it.
    func erase() throws {
        // The prefix includes files that were set aside as damaged.
        let folder = url.deletingLastPathComponent()
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.path)
        where file.hasPrefix(url.lastPathComponent) {
            try FileManager.default.removeItem(at: folder.appendingPathComponent(file))
        }
    }
}

/// Data of a store that the server does not have.
struct UnsyncedData: Sendable {
    var changes: [QueuedChange] = []
    /// The drafts by conversation.
    var drafts: [Conversation.ID: String] = [:]
    /// The app's own values.
    var data: [String: JSONValue] = [:]
}
