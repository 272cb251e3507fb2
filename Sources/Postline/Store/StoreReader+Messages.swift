import Foundation
import GRDB

/// Reading the messages of a conversation.
extension StoreReader {
    /// Returns messages, the oldest first, with the changes of the outbox. The unsent ones follow if `withUnsent`.
    func messages(
        _ rows: [Row], in conversationID: Conversation.ID, withUnsent: Bool, me: Me?
    ) throws -> [Message] {
        let changes = try changes(queueKey: conversationID.rawValue)
        let sends = changes.filter(\.isMessage)
        let events: [GroupEvent?] = try rows.map { row in try (row["event"] as String?).map(StoreJSON.decode) }
        let named = events.flatMap { $0?.userIDs ?? [] }
        let users = try profiles(rows.map { $0.id("sender_id") } + named + [userID], me: me)
        // The number up to which all other members have read.
        let mark = try Int.fetchOne(
            database.cachedStatement(
                sql: "select min(last_read_seq) from member where conversation_id = ? and user_id <> ?"),
            arguments: [conversationID.rawValue, userID.rawValue])
        var messages = try zip(rows, events).map { row, event in
            var message = try message(row, users: users, isReadUpTo: mark ?? .max)
            message.event = event
            message.event?.profiles = event?.userIDs.compactMap { users[$0] } ?? []
            return message
        }
        for change in changes {
            guard let seq = change.seq, let index = messages.firstIndex(where: { $0.seq == seq }) else { continue }
            switch change.method {
            case .edit:
                if change.refusal == nil { messages[index].content = change.content }
                messages[index].delivery = change.delivery
            case .delete:
                if change.refusal == nil { (messages[index].content, messages[index].attachment) = (nil, nil) }
                messages[index].delivery = change.delivery
            case .send, .sendPicture, .markRead, .save, .fill: break
            }
        }
        if withUnsent { messages += try sends.map { try pendingMessage(for: $0, sender: users[userID]) } }
        return messages
    }

    func message(_ row: Row, users: [User.ID: User], isReadUpTo mark: Int) throws -> Message {
        let seq: Int = row["seq"]
        let senderID: User.ID = row.id("sender_id")
        // The message of this user keeps the id that it had in the outbox.
        let clientID: Message.ID? = senderID == userID ? row.optionalID("client_id") : nil
        return Message(
            id: clientID ?? row.id("id"), conversationID: row.id("conversation_id"), seq: seq,
            senderID: senderID, sender: users[senderID], kind: .init(rawValue: row["kind"]),
            content: row["content"],
            attachment: try (row["attachment"] as String?).map { try StoreJSON.decode($0) }, isRead: seq <= mark,
            createdAt: Date(timeIntervalSince1970: row["created_at"]), editedAt: Self.date(row["edited_at"]),
            deletedAt: Self.date(row["deleted_at"]), delivery: .sent, isMine: senderID == userID)
    }

    func pendingMessage(for change: QueuedChange, sender: User?) throws -> Message {
        var kind = MessageKind.text
        if case .string(let name)? = change.params["kind"] { kind = .init(rawValue: name) }
        var attachment: Message.Attachment? = try change.params["attachment"].map {
            try StoreJSON.convert($0)
        }
        if change.method == .sendPicture { attachment?.fileURL = change.clientID.map(pictures.url) }
        return Message(
            id: Message.ID(change.clientID ?? "\(change.id)"), conversationID: Conversation.ID(change.queueKey),
            seq: nil, senderID: userID,
            sender: sender, kind: kind, content: change.content,
            attachment: attachment, createdAt: change.createdAt, delivery: change.delivery, isMine: true)
    }

    static func date(_ seconds: Double?) -> Date? { seconds.map(Date.init(timeIntervalSince1970:)) }
}
