import Foundation
import GRDB

/// Changes to the store within one transaction.
struct StoreWriter {
    let reader: StoreReader

    var database: Database { reader.database }
    var userID: User.ID { reader.userID }

    func setDeviceData(_ name: String, to value: JSONValue?) throws {
        if let value {
            try database.execute(
                sql: "insert into device_data values (?, ?) on conflict do update set value = excluded.value",
                arguments: [name, try StoreJSON.encode(value)])
        } else {
            try database.execute(sql: "delete from device_data where name = ?", arguments: [name])
        }
    }

    /// Records that the deletion of the account was requested, or that it was not done.
    func setDeletionPending(_ isPending: Bool) throws { try set("deletion", isPending ? "asked" : nil) }

    func set(_ name: String, _ value: String?) throws {
        guard let value else {
            return try database.execute(sql: "delete from setting where name = ?", arguments: [name])
        }
        try database.cachedStatement(
            sql: "insert into setting values (?, ?) on conflict do update set value = excluded.value"
        ).execute(arguments: [name, value])
    }
}
