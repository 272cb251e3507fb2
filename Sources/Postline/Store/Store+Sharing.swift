import Foundation
import GRDB

/// Stores that several processes use.
extension Store {
    /// The error of a write to a file that another process has replaced or erased.
    struct Replaced: Error {}

    /// True if another process has replaced or erased the file.
    var isReplaced: Bool {
        guard let inode else { return false }
        return FileIdentity(url)?.inode != inode
    }

    /// Returns a number that changes with each commit of another process (SQLite, `pragma data_version`).
    func dataVersion() async throws -> Int {
        // Only the connection that writes for this process does not count its own commits.
        try await withWriteConnection { try Int.fetchOne($0, sql: "pragma data_version") ?? 0 }
    }
}

/// Messages for the events of other processes. The newest ``ClientEvents/capacity`` are kept.
extension StoreWriter {
    /// Records that messages have arrived.
    func recordArrival(of messages: [Message], in store: String) throws {
        guard !messages.isEmpty else { return }
        for message in messages {
            try database.execute(
                sql: "insert into arrival (store, conversation_id, seq) values (?, ?, ?)",
                arguments: [store, message.conversationID.rawValue, message.seq])
        }
        try database.execute(
            sql: "delete from arrival where id <= (select max(id) from arrival) - ?",
            arguments: [ClientEvents.capacity])
    }
}

extension StoreReader {
    /// Returns the number of the last message that has arrived.
    func lastArrivalID() throws -> Int64 { try Int64.fetchOne(database, sql: "select max(id) from arrival") ?? 0 }

    /// Returns the messages that have arrived after a number, with the stores of the processes that received them.
    func arrivals(after id: Int64) throws -> [(store: String, message: Message)] {
        let me = try me()
        let rows = try Row.fetchAll(
            database.cachedStatement(
                sql: """
                    select m.*, a.store from arrival a join message m using (conversation_id, seq)
                    where a.id > ? order by a.id
                    """),
            arguments: [id])
        return try rows.flatMap { row in
            try messages([row], in: row.id("conversation_id"), withUnsent: false, me: me).map { (row["store"], $0) }
        }
    }
}

/// Requests of processes without a connection to the one that has it. Each has a number.
extension StoreWriter {
    /// Requests a fetch of all changes, and returns its number.
    func requestFetch() throws -> Int {
        let number = try reader.lastFetchRequest + 1
        try set("fetch_requested", "\(number)")
        return number
    }

    func answerFetches(upTo number: Int) throws { try set("fetch_answered", "\(number)") }
}

extension StoreReader {
    var lastFetchRequest: Int { get throws { try setting("fetch_requested").flatMap { Int($0) } ?? 0 } }

    var lastFetchAnswer: Int { get throws { try setting("fetch_answered").flatMap { Int($0) } ?? 0 } }
}
