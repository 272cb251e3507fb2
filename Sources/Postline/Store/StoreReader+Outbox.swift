import GRDB

/// Reading the outbox.
extension StoreReader {
    func changes(queueKey: String? = nil) throws -> [QueuedChange] {
        let rows =
            if let queueKey {
                try Row.fetchAll(
                    database.cachedStatement(sql: "select * from change where lane = ? order by id"),
                    arguments: [queueKey])
            } else {
                try Row.fetchAll(database.cachedStatement(sql: "select * from change order by id"))
            }
        return try rows.compactMap(QueuedChange.init)
    }

    /// Returns a change, or nil if it is done or discarded.
    func change(_ id: Int64) throws -> QueuedChange? {
        try Row.fetchOne(database.cachedStatement(sql: "select * from change where id = ?"), arguments: [id])
            .flatMap(QueuedChange.init)
    }

    /// Returns the keys of the queues with pending changes.
    func pendingQueueKeys() throws -> [String] {
        try String.fetchAll(
            database.cachedStatement(
                sql: """
                    select lane from change where refusal is null and method in \(QueuedChange.Method.list)
                    group by lane order by min(id)
                    """))
    }

    /// Returns the next pending change of a queue.
    func nextChange(queueKey: String) throws -> QueuedChange? {
        try Row.fetchOne(
            database.cachedStatement(
                sql: """
                    select * from change where lane = ? and refusal is null and method in \(QueuedChange.Method.list)
                    order by id limit 1
                    """),
            arguments: [queueKey]
        ).flatMap(QueuedChange.init)
    }
}
