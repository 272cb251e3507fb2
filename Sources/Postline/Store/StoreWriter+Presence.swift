import Foundation
import GRDB

/// Applying presence.
extension StoreWriter {
    func apply(_ presence: WirePresence) throws {
        try database.cachedStatement(sql: "insert or replace into presence values (?, ?, ?, ?)").execute(arguments: [
            presence.userID.rawValue, presence.isOnline, presence.lastSeenAt?.timeIntervalSince1970, try generation,
        ])
    }

    /// Deletes the presence of users who share no conversation with this user. The server does not report it any more.
    func pruneUnreferencedPresence() throws {
        try database.execute(sql: "delete from presence where user_id not in (select user_id from member)")
    }
}
