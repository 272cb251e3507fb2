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
        /// Uploads files and sends their message. An earlier version of the app leaves it in the outbox.
        case sendFiles = "messages.send_files"
        case edit = "messages.edit"
        case delete = "messages.delete"
        case react = "messages.react"
        case pin = "messages.pin"
        /// Changes what this user alone sees of a conversation.
        case set = "conversations.set"
        case markRead = "messages.mark_read"
        case save = "me.save"
        /// Saves the fields of the user's own data that are still empty.
        case fill = "me.fill"

        /// The methods of new messages as an SQL list.
        static let messages = "('\(Self.send.rawValue)', '\(Self.sendFiles.rawValue)')"

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
    var isMessage: Bool { [.send, .sendFiles].contains(method) }

    /// The conversation of the change, or nil for the user's own data.
    var conversationID: Conversation.ID? { queueKey == Self.profileQueueKey ? nil : Conversation.ID(queueKey) }

    /// The number of the message that the change edits, deletes, pins, reacts to or marks as read.
    var seq: Int? {
        guard case .integer(let seq)? = params["seq"] else { return nil }
        return seq
    }

    /// The new content of the message. Without a text it is the name of the first file, as the server sets it.
    var content: String? {
        if let text = text("content") { return text }
        guard isMessage else { return nil }
        let first = attachments.first
        return first?.kind == .image ? "" : first?.name ?? ""
    }

    /// The attachments of a new message.
    var attachments: [Message.Attachment] {
        if method == .sendFiles { return files.map(\.attachment) }
        let one: Message.Attachment? = params["attachment"].flatMap { try? StoreJSON.convert($0) }
        return one.map { [$0] } ?? params["attachments"].flatMap { try? StoreJSON.convert($0) } ?? []
    }

    /// The reaction.
    var emoji: String? { text("emoji") }

    /// The message that a new one answers.
    var replyToSeq: Int? {
        guard case .integer(let seq)? = params["reply_to_seq"] else { return nil }
        return seq
    }

    /// The users whom the message mentions, or nil if the change leaves them as they are.
    var mentions: [User.ID]? {
        guard case .array(let ids)? = params["mentions"] else { return nil }
        return ids.compactMap { if case .string(let id) = $0 { User.ID(id) } else { nil } }
    }

    /// Returns a param that is true or false, or nil if it is missing.
    func flag(_ name: String) -> Bool? {
        guard case .bool(let flag)? = params[name] else { return nil }
        return flag
    }

    private func text(_ name: String) -> String? {
        guard case .string(let text)? = params[name] else { return nil }
        return text
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
