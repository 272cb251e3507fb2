import Foundation
import GRDB

/// A snapshot of the store as the app sees it: the server's data with the outbox applied.
struct StoreReader {
    let database: Database
    let userID: User.ID
    let files: OutboxFiles

    var cursor: String? {
        get throws { try setting("cursor") }
    }

    /// True if the first sync is complete, whatever the progress of later ones.
    var hasSynced: Bool {
        get throws {
            if userID == DeviceState.localGuest { return true }
            let isFirst = try setting("generation") == "1"
            return try cursor != nil && !(isFirst && setting("is_resetting") != nil)
        }
    }

    func setting(_ name: String) throws -> String? {
        try String.fetchOne(
            database.cachedStatement(sql: "select value from setting where name = ?"), arguments: [name])
    }

    /// True if the deletion of the account was requested and its result is unknown.
    var isDeletionPending: Bool {
        get throws { try setting("deletion") != nil }
    }

    /// Returns the app's own values for this user on this device.
    func deviceData() throws -> [String: JSONValue] {
        try Row.fetchAll(database.cachedStatement(sql: "select name, value from device_data"))
            .reduce(into: [:]) { $0[$1[0]] = try StoreJSON.decode($1[1]) as JSONValue }
    }

    /// Returns the user's own data as the server has it.
    func serverMe() throws -> Me? {
        try setting("me").map { try StoreJSON.decode($0) }
    }

    /// Returns the user's own data with pending edits.
    func me() throws -> Me? {
        guard let me = try serverMe() else { return nil }
        return try changes(queueKey: QueuedChange.profileQueueKey).filter { $0.refusal == nil }.reduce(me) {
            me, change in
            let params = change.method == .fill ? try ProfileEdit.filling(change.params, in: me) : change.params
            // An edit that cannot be applied stays pending, until the server refuses it.
            return (try? ProfileEdit.applying(params, to: me)) ?? me
        }
    }

    /// Returns the users whom this user blocks, the first one first.
    func blockedUserIDs() throws -> [User.ID] {
        try Row.fetchAll(database.cachedStatement(sql: "select user_id from blocked order by position")).map {
            $0.id("user_id")
        }
    }

    /// Returns the users whose messages in a conversation are hidden: those whom this user blocks, in a group.
    func hiddenSenders(in conversationID: Conversation.ID) throws -> Set<User.ID> {
        let rows = try Row.fetchAll(
            database.cachedStatement(
                sql: """
                    select user_id from blocked
                    where exists (select 1 from conversation where id = ? and kind <> 'direct')
                    """),
            arguments: [conversationID.rawValue])
        return Set(rows.map { $0.id("user_id") })
    }

    /// Returns the known profiles of users. The user's own comes from its own data.
    func profiles(_ ids: some Collection<User.ID>, me: Me?) throws -> [User.ID: User] {
        var found: [User.ID: User] = [:]
        let statement = try database.cachedStatement(sql: "select json from profile where id = ?")
        for id in Set(ids) {
            if id == userID, let me {
                found[id] = me.profile
            } else if let json = try String.fetchOne(statement, arguments: [id.rawValue]) {
                found[id] = try StoreJSON.decode(json)
            }
        }
        return found
    }
}
