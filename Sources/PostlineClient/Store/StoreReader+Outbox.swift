import GRDB

/// What is to be sent.
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

    /// One of them; nil where it is done or given up.
    func change(_ id: Int64) throws -> QueuedChange? {
        try Row.fetchOne(database.cachedStatement(sql: "select * from change where id = ?"), arguments: [id])
            .flatMap(QueuedChange.init)
    }

    /// The lanes in which something waits that was not refused.
    func pendingQueueKeys() throws -> [String] {
        try String.fetchAll(
            database.cachedStatement(
                sql: """
                    select lane from change where refusal is null and method in \(QueuedChange.Method.list)
                    group by lane order by min(id)
                    """))
    }

    /// What is to be sent next in a lane.
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
