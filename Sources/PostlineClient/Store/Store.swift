import Foundation
import GRDB

/// What this device knows of one user's world, and what it still has to tell the server: one SQLite file.
///
/// Every change of the world comes with the cursor that follows it, in one transaction: killed at any moment, the file
/// holds both or neither.
final class Store: Sendable {
    let userID: String
    let url: URL
    private let database: DatabasePool

    /// Opens the user's file in that folder, or makes it.
    ///
    /// A file that is no database any more is put aside, and what can be read of what no server has goes into a new one.
    /// - Throws: ``PostlineError``, `store_unusable`.
    init(folder: URL, userID: String) throws {
        self.userID = userID
        url = Self.url(folder, userID)
        do {
            try FileManager.default.makePrivateFolder(folder)
            do {
                database = try Self.open(url)
            } catch  where Self.isDamaged(error) {
                try Self.replaceDamaged(folder, userID)
                database = try Self.open(url)
            }
        } catch let error as PostlineError {
            throw error
        } catch {
            throw PostlineError(.storeUnusable, "The store \(url.path) cannot be used: \(error)")
        }
    }

    static func url(_ folder: URL, _ userID: String) -> URL { folder.appendingPathComponent("\(userID).sqlite") }

    private static func open(_ url: URL) throws -> DatabasePool {
        var configuration = Configuration()
        configuration.label = "postline"
        configuration.maximumReaderCount = 2
        configuration.busyMode = .timeout(10)
        configuration.prepareDatabase { database in
            // 2 MB of pages are cached.
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

    /// Whether the file is no database, or a torn one.
    static func isDamaged(_ error: any Error) -> Bool {
        guard let error = error as? DatabaseError else { return false }
        return [.SQLITE_CORRUPT, .SQLITE_NOTADB].contains(error.resultCode.primaryResultCode)
    }

    /// Puts a torn file aside, and makes a new one of what can be read of what no server has.
    static func replaceDamaged(_ folder: URL, _ userID: String) throws {
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

    /// What can be read of a damaged file that no server has, row by row.
    private static func readableUnsyncedData(in url: URL) -> UnsyncedData {
        var found = UnsyncedData()
        guard let database = try? DatabaseQueue(path: url.path) else { return found }
        func read(_ sql: String, _ take: (Row) throws -> Void) {
            try? database.read { database in
                let rows = try Row.fetchCursor(database, sql: sql)
                while let row = try rows.next() { try? take(row) }
            }
        }
        read("select * from change order by id") { row in
            if let change = try QueuedChange(row) { found.changes.append(change) }
        }
        read("select conversation_id, content from draft") { found.drafts[$0[0]] = $0[1] }
        read("select name, value from device_data") { found.data[$0[0]] = try StoreJSON.decode($0[1]) as JSONValue }
        return found
    }

    /// Reads one state of the store, whatever is written meanwhile.
    func read<Value: Sendable>(_ body: @Sendable (StoreReader) throws -> Value) async throws -> Value {
        let userID = userID
        return try await database.read { try body(StoreReader(database: $0, userID: userID)) }
    }

    /// The same, at once: for what is to be on the screen before anything else is.
    func readNow<Value>(_ body: (StoreReader) throws -> Value) throws -> Value {
        try database.read { try body(StoreReader(database: $0, userID: userID)) }
    }

    /// Changes the store, all of it or nothing.
    ///
    /// - Parameter isDurable: whether the battery may die as soon as this returns. What comes with its cursor may be lost
    ///   together with it, and comes again: it waits for no disk (SQLite, `pragma synchronous`).
    func write(isDurable: Bool = true, _ body: @Sendable (StoreWriter) throws -> Void) async throws {
        let userID = userID
        try await database.writeWithoutTransaction { database in
            try database.execute(sql: isDurable ? "pragma synchronous = full" : "pragma synchronous = normal")
            try database.inTransaction {
                try body(StoreWriter(reader: StoreReader(database: database, userID: userID)))
                return .commit
            }
        }
    }

    /// The same, at once: before there is anything to wait for.
    func writeNow(_ body: (StoreWriter) throws -> Void) throws {
        try database.write { database in
            try body(StoreWriter(reader: StoreReader(database: database, userID: userID)))
        }
    }

    /// Closes the file, and takes it away where it is not wanted any more.
    func close(erasing: Bool) throws {
        try database.close()
        guard erasing else { return }
        // What was put aside of a damaged one too.
        let folder = url.deletingLastPathComponent()
        for file in try FileManager.default.contentsOfDirectory(atPath: folder.path)
        where file.hasPrefix(url.lastPathComponent) {
            try FileManager.default.removeItem(at: folder.appendingPathComponent(file))
        }
    }
}

/// What a store has that no server has.
struct UnsyncedData: Sendable {
    var changes: [QueuedChange] = []
    /// By conversation.
    var drafts: [String: String] = [:]
    /// The app's own.
    var data: [String: JSONValue] = [:]
}
