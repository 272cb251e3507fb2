import Foundation
import GRDB

/// One state of the store, as the app sees it: what the server said, and over it what is on its way there.
struct StoreReader {
    let database: Database
    let userID: String

    var cursor: String? {
        get throws { try setting("cursor") }
    }

    func setting(_ name: String) throws -> String? {
        try String.fetchOne(
            database.cachedStatement(sql: "select value from setting where name = ?"), arguments: [name])
    }

    /// Whether the account's deletion was asked for, and nothing is known of it.
    var isDeletionPending: Bool {
        get throws { try setting("deletion") != nil }
    }

    /// What the app keeps of the user on this device alone.
    func deviceData() throws -> [String: JSONValue] {
        try Row.fetchAll(database.cachedStatement(sql: "select name, value from device_data"))
            .reduce(into: [:]) { $0[$1[0]] = try StoreJSON.decode($1[1]) as JSONValue }
    }

    /// The user's own data as the server has them.
    func serverMe() throws -> Me? {
        try setting("me").map { try StoreJSON.decode($0) }
    }

    /// The user's own data, with the edits that wait.
    func me() throws -> Me? {
        guard let me = try serverMe() else { return nil }
        return try changes(queueKey: QueuedChange.profileQueueKey).filter { $0.refusal == nil }.reduce(me) {
            me, change in
            let params = change.method == .fill ? try ProfileEdit.filling(change.params, in: me) : change.params
            // What cannot be shown waits for the server's word like all else, which is that it is refused.
            return (try? ProfileEdit.applying(params, to: me)) ?? me
        }
    }

    /// Of whom the store knows: this user by its own data, others by what they show.
    func profiles(_ ids: some Collection<String>, me: Me?) throws -> [String: Profile] {
        var found: [String: Profile] = [:]
        let statement = try database.cachedStatement(sql: "select json from profile where id = ?")
        for id in Set(ids) {
            if id == userID, let me {
                found[id] = me.profile
            } else if let json = try String.fetchOne(statement, arguments: [id]) {
                found[id] = try StoreJSON.decode(json)
            }
        }
        return found
    }
}
