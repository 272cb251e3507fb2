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

    /// Returns the queues with pending changes, those with the oldest changes first.
    func pendingQueues() throws -> [OutboxQueue] {
        try Row.fetchAll(
            database.cachedStatement(
                sql: """
                    select lane, method in \(QueuedChange.Method.messages) as is_message from change
                     where refusal is null and method in \(QueuedChange.Method.list)
                     group by 1, 2 order by min(id)
                    """)
        ).map { OutboxQueue(key: $0["lane"], hasMessages: $0["is_message"]) }
    }

    /// Returns the next pending change of a queue.
    func nextChange(of queue: OutboxQueue) throws -> QueuedChange? {
        try Row.fetchOne(
            database.cachedStatement(
                sql: """
                    select * from change where lane = ? and refusal is null and method in \(QueuedChange.Method.list)
                       and (method in \(QueuedChange.Method.messages)) = ?
                     order by id limit 1
                    """),
            arguments: [queue.key, queue.hasMessages]
        ).flatMap(QueuedChange.init)
    }
}

/// A queue of the outbox, whose changes are sent in order. New messages have their own, so that the upload of a large
/// file does not delay read marks and other changes of its conversation, which are of messages that the server has.
struct OutboxQueue: Hashable, Sendable {
    /// A conversation's id, or that of the user's own data.
    let key: String
    /// True for new messages, false for all other changes.
    let hasMessages: Bool
}
