import Foundation
import GRDB

/// Changes the store within one transaction.
struct StoreWriter {
    let reader: StoreReader

    var database: Database { reader.database }
    var userID: String { reader.userID }

    func set(_ name: String, _ value: String) throws {
        try database.cachedStatement(
            sql: "insert into setting values (?, ?) on conflict do update set value = excluded.value"
        ).execute(arguments: [name, value])
    }
}
