internal import LineClient
internal import Messaging

/// A message in its conversation.
struct Message: Sendable, Equatable {
    let id: String
    let conversationID: String
    let seq: Int
    let senderID: String
    /// The sender's profile as of when the message was read from the server.
    let sender: Person?
    let clientID: String?
    let kind: String
    let content: String?
    let attachmentURL: String?
    let version: Int
    let createdAt: String
    let isEdited: Bool
    let isDeleted: Bool

    /// Nil where the value is no such object.
    init?(_ json: JSON) {
        guard let id = json["id"]?.stringValue, let conversationID = json["conversation_id"]?.stringValue,
            let seq = json["seq"]?.integerValue
        else { return nil }
        self.id = id
        self.conversationID = conversationID
        self.seq = seq
        senderID = json["sender_id"]?.stringValue ?? ""
        sender = json["sender"].flatMap(Person.init)
        clientID = json["client_id"]?.stringValue
        kind = json["kind"]?.stringValue ?? "text"
        content = json["content"]?.stringValue
        attachmentURL = json["attachment"]?["url"]?.stringValue
        version = json["version"]?.integerValue ?? 1
        createdAt = json["created_at"]?.stringValue ?? ""
        isEdited = json["edited_at"]?.stringValue != nil
        isDeleted = json["deleted_at"]?.stringValue != nil
    }

    /// What to show of it.
    var shownContent: String {
        if isDeleted { return "(deleted)" }
        let text = content ?? ""
        guard let attachmentURL else { return text }
        return text.isEmpty ? attachmentURL : "\(text)\n\(attachmentURL)"
    }
}
