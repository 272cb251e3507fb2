import Foundation
import GRDB

/// A change in the outbox, pending or refused.
struct QueuedChange: Sendable {
    let id: Int64
    let queueKey: String
    let method: Method
    var params: [String: JSONValue]
    let clientID: String?
    let refusal: PostlineError?
    let createdAt: Date

    /// The methods that the outbox can queue.
    enum Method: String, CaseIterable {
        case send = "messages.send"
        /// Uploads a picture and sends its message. An earlier version of the app leaves it in the outbox.
        case sendPicture = "messages.send_picture"
        case edit = "messages.edit"
        case delete = "messages.delete"
        case markRead = "messages.mark_read"
        case save = "me.save"
        /// Saves the fields of the user's own data that are still empty.
        case fill = "me.fill"

        /// The methods as an SQL list. Changes that a newer version of the app queued wait for that version.
        static let list = "(" + allCases.map { "'\($0.rawValue)'" }.joined(separator: ", ") + ")"
    }

    /// The queue key of the user's own data. Other keys are ids of conversations.
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

    /// The delivery state of the change.
    var delivery: Delivery { refusal.map { .refused($0, change: id) } ?? .queued(change: id) }

    /// True if the change is a new message.
    var isMessage: Bool { [.send, .sendPicture].contains(method) }

    /// The conversation of the change, or nil for the user's own data.
    var conversationID: Conversation.ID? { queueKey == Self.profileQueueKey ? nil : Conversation.ID(queueKey) }

    /// The number of the message that the change edits, deletes or marks as read.
    var seq: Int? {
        guard case .integer(let seq)? = params["seq"] else { return nil }
        return seq
    }

    /// The new content of the message.
    var content: String? {
        guard case .string(let content)? = params["content"] else { return nil }
        return content
    }
}

/// The JSON coding of the store's columns.
enum StoreJSON {
    static func encode(_ value: some Encodable) throws -> String {
        String(decoding: try JSONEncoder().encode(value), as: UTF8.self)
    }

    static func decode<Value: Decodable>(_ text: String) throws -> Value {
        try JSONDecoder().decode(Value.self, from: Data(text.utf8))
    }

    /// Converts a value to another type with the same JSON.
    static func convert<Value: Decodable>(_ value: some Encodable) throws -> Value { try decode(encode(value)) }
}
