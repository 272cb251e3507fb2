public import Foundation

/// A message of this user that the server sends at a later time.
public struct ScheduledMessage: Sendable, Hashable, Codable, Identifiable {
    /// The id, which is also that of this user's message once it is sent.
    public let id: Message.ID
    /// The conversation's id.
    public let conversationID: Conversation.ID
    /// The time at which the server sends it.
    public let dueAt: Date
    /// The kind.
    public let kind: MessageKind
    /// The text.
    public let content: String
    /// The pictures, videos, audios and other files, at most 10.
    public let attachments: [Message.Attachment]
    /// The number of the message that it answers, or nil.
    public let replyToSeq: Int?
    /// The ids of the mentioned users.
    public let mentions: [User.ID]
    /// True if the message mentions all members of the group.
    public let mentionsEveryone: Bool
    /// The app's own data, or nil if there is none.
    public let data: [String: JSONValue]?
    /// The time at which it was scheduled.
    public let createdAt: Date
    /// The reason why the server refused to send it at its time, or nil while it waits.
    public let error: Refusal?

    /// The first of the attachments, or nil if there is none.
    public var attachment: Message.Attachment? { attachments.first }

    /// The reason why a message was not sent.
    public struct Refusal: Sendable, Hashable, Codable {
        /// The code of the error.
        public let code: PostlineError.Code
        /// A sentence for developers.
        public let message: String
    }

    private enum CodingKeys: String, CodingKey {
        case id, kind, content, attachments, mentions, data, error
        case conversationID = "conversation_id"
        case dueAt = "due_at"
        case replyToSeq = "reply_to_seq"
        case mentionsEveryone = "mentions_everyone"
        case createdAt = "created_at"
    }
}
