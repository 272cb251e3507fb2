import Foundation
import GRDB

/// Writing the outbox and drafts.
extension StoreWriter {
    /// Adds a change to the outbox.
    func enqueue(
        _ method: QueuedChange.Method, queueKey: String, _ params: [String: JSONValue], clientID: String? = nil
    ) throws {
        if method == .markRead {
            // A later read mark replaces an earlier one.
            try database.execute(
                sql: "delete from change where method = 'messages.mark_read' and lane = ? and refusal is null",
                arguments: [queueKey])
        }
        try insert(method, queueKey: queueKey, params, clientID: clientID, refusal: nil, createdAt: Date())
    }

    private func insert(
        _ method: QueuedChange.Method, queueKey: String, _ params: [String: JSONValue], clientID: String?,
        refusal: PostlineError?, createdAt: Date
    ) throws {
        // A row with the same client id is the same message.
        try database.execute(
            sql: """
                insert or ignore into change (lane, method, params, client_id, refusal, created_at)
                values (?, ?, ?, ?, ?, ?)
                """,
            arguments: [
                queueKey, method.rawValue, try StoreJSON.encode(params), clientID, try refusal.map(StoreJSON.encode),
                createdAt.timeIntervalSince1970,
            ])
    }

    /// Removes a change that is done or discarded from the outbox.
    func remove(_ change: QueuedChange) throws {
        try database.execute(sql: "delete from change where id = ?", arguments: [change.id])
        if change.method == .sendFiles, let clientID = change.clientID { removeFilesAfterCommit(clientID) }
    }

    /// Records the server's refusal of a change. Nil makes the change pending again.
    func setRefusal(of change: QueuedChange, to error: PostlineError?) throws {
        try database.execute(
            sql: "update change set refusal = ? where id = ?", arguments: [try error.map(StoreJSON.encode), change.id])
    }

    /// Imports the unsynced data of another store.
    ///
    /// - Parameter fillingOnly: True to save only the fields of the user's own data that are empty. All edits are then
    ///   joined into one, because the first would fill what the second finds.
    func importUnsynced(_ unsynced: UnsyncedData, fillingOnly: Bool) throws {
        func isEdit(_ change: QueuedChange) -> Bool {
            fillingOnly && change.refusal == nil && [.save, .fill].contains(change.method)
        }
        let edits = unsynced.changes.filter(isEdit).map(\.params).reduce([:], ProfileEdit.joining)
        if !edits.isEmpty { try enqueue(.fill, queueKey: QueuedChange.profileQueueKey, edits) }
        for change in unsynced.changes where !isEdit(change) {
            try insert(
                change.method, queueKey: change.queueKey, change.params, clientID: change.clientID,
                refusal: change.refusal,
                createdAt: change.createdAt)
        }
        for (conversationID, content) in unsynced.drafts { try setDraft(content, in: conversationID) }
        let held = try reader.deviceData()
        for (name, value) in unsynced.data where held[name] == nil { try setDeviceData(name, to: value) }
    }

    func removeSend(_ clientID: String) throws {
        try database.cachedStatement(sql: "delete from change where client_id = ?").execute(arguments: [clientID])
        if database.changesCount > 0 { removeFilesAfterCommit(clientID) }
    }

    func setDraft(_ content: String?, in conversationID: Conversation.ID) throws {
        if let content, !content.isEmpty {
            try database.execute(
                sql: "insert into draft values (?, ?) on conflict do update set content = excluded.content",
                arguments: [conversationID.rawValue, content])
        } else {
            try database.execute(
                sql: "delete from draft where conversation_id = ?", arguments: [conversationID.rawValue])
        }
    }
}
