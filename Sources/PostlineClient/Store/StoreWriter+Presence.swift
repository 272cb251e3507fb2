import Foundation
import GRDB

/// Who is online.
extension StoreWriter {
    func apply(_ presence: WirePresence) throws {
        try database.cachedStatement(sql: "insert or replace into presence values (?, ?, ?, ?)").execute(arguments: [
            presence.userID, presence.isOnline, presence.lastSeenAt?.timeIntervalSince1970, try generation,
        ])
    }

    /// Of whom no conversation is shared with any more nothing is told, and so nothing is known.
    func pruneUnreferencedPresence() throws {
        try database.execute(sql: "delete from presence where user_id not in (select user_id from member)")
    }
}
