import Foundation
import GRDB

/// What is to be sent, and what was typed and is not.
extension StoreWriter {
    /// Puts a call into the outbox.
    func enqueue(
        _ method: QueuedChange.Method, queueKey: String, _ params: [String: JSONValue], clientID: String? = nil
    ) throws {
        if method == .markRead {
            // A later mark says it all.
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
        // What is here by its client id is the same.
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

    /// Takes a call out of the outbox: it is done, or not wanted any more.
    func remove(_ change: QueuedChange) throws {
        try database.execute(sql: "delete from change where id = ?", arguments: [change.id])
    }

    /// Notes that the server refused a call, or, with nil, that it is to be tried again.
    func setRefusal(of change: QueuedChange, to error: PostlineError?) throws {
        try database.execute(
            sql: "update change set refusal = ? where id = ?", arguments: [try error.map(StoreJSON.encode), change.id])
    }

    /// Takes over what another file alone has.
    ///
    /// - Parameter filling: whether of the user's own data only what is missing is saved. All edits are one then, as the
    ///   first would be what the second finds there.
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
    }

    func setDraft(_ content: String?, in conversationID: String) throws {
        if let content, !content.isEmpty {
            try database.execute(
                sql: "insert into draft values (?, ?) on conflict do update set content = excluded.content",
                arguments: [conversationID, content])
        } else {
            try database.execute(sql: "delete from draft where conversation_id = ?", arguments: [conversationID])
        }
    }
}
