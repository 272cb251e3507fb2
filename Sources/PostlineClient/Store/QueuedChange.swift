import Foundation
import GRDB

/// A call of the outbox: it waits to be done, or was refused.
struct QueuedChange: Sendable {
    let id: Int64
    let queueKey: String
    let method: Method
    let params: [String: JSONValue]
    let clientID: String?
    let refusal: PostlineError?
    let createdAt: Date

    /// What the outbox can hold.
    enum Method: String, CaseIterable {
        case send = "messages.send"
        case edit = "messages.edit"
        case delete = "messages.delete"
        case markRead = "messages.mark_read"
        case save = "me.save"
        /// Saves of the user's own data what is not there yet.
        case fill = "me.fill"

        /// All of them in SQL: what a newer version of the app queued waits for that version.
        static let list = "(" + allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ") + ")"
    }

    /// The lane of the user's own data.
    static let profileQueueKey = "me"

    init?(_ row: Row) throws {
        guard let method = Method(rawValue: row["method"]) else { return nil }
        id = row["id"]
        queueKey = row["lane"]
        self.method = method
        params = try StoreJSON.decode(row["params"])
        clientID = row["client_id"]
        refusal = try (row["refusal"] as String?).map { try StoreJSON.decode($0) }
        createdAt = Date(timeIntervalSince1970: row["created_at"])
    }

    /// How far it has come.
    var delivery: Delivery { refusal.map { .refused($0, change: id) } ?? .queued(change: id) }

    /// The conversation that it is about.
    var conversationID: String? { queueKey == Self.profileQueueKey ? nil : queueKey }

    /// The message that it changes.
    var seq: Int? {
        guard case .integer(let seq)? = params["seq"] else { return nil }
        return seq
    }

    /// What is to stand in the message.
    var content: String? {
        guard case .string(let content)? = params["content"] else { return nil }
        return content
    }
}

/// JSON within the store.
enum StoreJSON {
    static func encode(_ value: some Encodable) throws -> String {
        String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }

    static func decode<Value: Decodable>(_ text: String) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(text.utf8))
    }
}
