import Foundation
import GRDB

/// What is to be sent, and what was typed and is not.
extension StoreWriter {
    /// Puts a call into the outbox.
    @discardableResult
    mutating func enqueue(
        _ method: QueuedChange.Method, lane: String, _ params: [String: JSONValue], clientID: String? = nil
    ) throws -> Int64 {
        if method == .markRead {
            // A later mark says it all.
            try database.execute(
                sql: "delete from change where method = 'messages.mark_read' and lane = ? and refusal is null",
                arguments: [lane])
        }
        try database.execute(
            sql: "insert into change (lane, method, params, client_id, created_at) values (?, ?, ?, ?, ?)",
            arguments: [lane, method.rawValue, try StoreJSON.encode(params), clientID, Date().timeIntervalSince1970])
        touch(lane: lane)
        return database.lastInsertedRowID
    }

    /// Takes a call out of the outbox: it is done, or not wanted any more.
    mutating func remove(_ change: QueuedChange) throws {
        try database.execute(sql: "delete from change where id = ?", arguments: [change.id])
        touch(lane: change.lane)
    }

    /// Notes that the server refused a call, or, with nil, that it is to be tried again.
    mutating func refuse(_ change: QueuedChange, _ error: PostlineError?) throws {
        try database.execute(
            sql: "update change set refusal = ? where id = ?", arguments: [try error.map(StoreJSON.encode), change.id])
        touch(lane: change.lane)
    }

    /// Takes over what a guest's file still has to send. Of the guest's data only what this user has none of is saved.
    mutating func takeOver(_ changes: [QueuedChange], _ drafts: [String: String]) throws {
        let me = try reader.serversMe()
        for change in changes {
            var params = change.params
            if change.method == .save, let me {
                params = try ProfileEdit.filling(params, in: me)
                if params.isEmpty { continue }
            }
            try database.execute(
                sql: """
                    insert or ignore into change (lane, method, params, client_id, refusal, created_at)
                    values (?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    change.lane, change.method.rawValue, try StoreJSON.encode(params), change.clientID,
                    try change.refusal.map(StoreJSON.encode), change.createdAt.timeIntervalSince1970,
                ])
        }
        for (conversationID, content) in drafts { try setDraft(content, in: conversationID) }
        touched.outbox = true
    }

    mutating func removeSend(_ clientID: String) throws {
        try database.cachedStatement(sql: "delete from change where client_id = ?").execute(arguments: [clientID])
        if database.changesCount > 0 { touched.outbox = true }
    }

    mutating func touch(lane: String) {
        touched.outbox = true
        if lane == QueuedChange.ownLane {
            touched.me = true
            touched.profiles.insert(userID)
        } else {
            touched.conversations.insert(lane)
        }
    }

    mutating func setDraft(_ content: String?, in conversationID: String) throws {
        if let content, !content.isEmpty {
            try database.execute(
                sql: "insert into draft values (?, ?) on conflict do update set content = excluded.content",
                arguments: [conversationID, content])
        } else {
            try database.execute(sql: "delete from draft where conversation_id = ?", arguments: [conversationID])
        }
        touched.conversations.insert(conversationID)
    }
}
