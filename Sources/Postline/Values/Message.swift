public import Foundation

/// A message, sent or unsent.
public struct Message: Sendable, Hashable, Identifiable {
    /// The id. It does not change when the queued message is sent.
    public let id: Identifier<Message>
    /// The conversation's id.
    public let conversationID: Conversation.ID
    /// The number in the conversation, counted from 1 without gaps. Nil until the server has the message.
    public var seq: Int?
    /// The sender's id.
    public let senderID: User.ID
    /// The sender's current profile, or nil if it is not on the device.
    public var sender: User?
    /// The kind: a text, the kind of the first attachment, or a message of the app or of the server.
    public var kind: MessageKind
    /// The text, or the text so far of a message that is streaming, or nil if the message is deleted. See ``caption`` for
    /// a message with attachments.
    public var content: String?
    /// True while the sender writes the text in pieces (``PostlineClient/stream(in:_:details:)``).
    public internal(set) var isStreaming = false
    /// True for a message of this user that waits for a moderator. Others see a deleted message. It can be deleted, but
    /// not edited.
    public internal(set) var isHeld = false
    /// The pictures, videos, audios and other files, at most 10. A deleted message has none.
    public var attachments: [Attachment]
    /// The change of the group that the message reports, or nil if there is none or the message is deleted.
    public var event: GroupEvent?
    /// The message that this one answers, or nil.
    public var replyTo: Quote?
    /// The ids of the mentioned members.
    public var mentions: [User.ID] = []
    /// True if the message mentions all members of the group.
    public var mentionsEveryone = false
    /// The app's own data, or nil if there is none or the message is deleted.
    public var data: [String: JSONValue]?
    /// The reactions, the most frequent first.
    public var reactions: [Reaction] = []
    /// True if all other members have read it.
    public var isRead: Bool
    /// True if a device of each other member has received it, or all have read it. In groups of more than 32 members
    /// only the latter.
    public var isDelivered: Bool
    /// The time of sending. For an unsent message, the time of writing by the device's clock.
    public var createdAt: Date
    /// The time of the last edit, or nil if it was never edited.
    public var editedAt: Date?
    /// The time of the deletion, or nil if it is not deleted.
    public var deletedAt: Date?
    /// The delivery state of the message, or of its last edit or deletion. A reaction does not change it.
    public var delivery: Delivery

    /// True if this user sent it.
    public var isMine: Bool
    /// True if another user sent it, and mentions this user or everyone.
    public var mentionsMe = false
    /// True for a message in a group of a user whom this user blocks: an app shows a placeholder in its place, and
    /// maybe the message on demand. Events of the group are never blocked, and neither is a direct conversation's past.
    public var isBlocked = false

    /// Creates a message, for previews and tests.
    ///
    /// - Parameters:
    ///   - id: The id.
    ///   - conversationID: The conversation's id.
    ///   - seq: The number in the conversation, or nil for a message that the server does not have.
    ///   - senderID: The sender's id.
    ///   - sender: The sender's profile.
    ///   - kind: The kind.
    ///   - content: The text, or nil for a deleted message.
    ///   - attachments: The files.
    ///   - event: The change of the group that the message reports.
    ///   - isRead: True if all other members have read it.
    ///   - createdAt: The time of sending.
    ///   - editedAt: The time of the last edit.
    ///   - deletedAt: The time of the deletion.
    ///   - delivery: The delivery state.
    ///   - isMine: True if this user sent it.
    public init(
        id: Message.ID, conversationID: Conversation.ID, seq: Int?, senderID: User.ID, sender: User? = nil,
        kind: MessageKind = .text, content: String?, attachments: [Attachment] = [], event: GroupEvent? = nil,
        isRead: Bool = false, createdAt: Date = Date(), editedAt: Date? = nil, deletedAt: Date? = nil,
        delivery: Delivery = .sent, isMine: Bool = false
    ) {
        self.id = id
        self.conversationID = conversationID
        self.seq = seq
        self.senderID = senderID
        self.sender = sender
        self.kind = kind
        self.content = content
        self.attachments = attachments
        self.event = event
        self.isRead = isRead
        isDelivered = isRead
        self.createdAt = createdAt
        self.editedAt = editedAt
        self.deletedAt = deletedAt
        self.delivery = delivery
        self.isMine = isMine
    }

    /// The first of the attachments, or nil if there is none.
    public var attachment: Attachment? { attachments.first }

    /// The text to show beside the attachments, or nil if the message is deleted. It is the ``content``, or empty if that
    /// is only the name of the first attachment: the server sets it for clients that do not know the kind.
    public var caption: String? {
        guard let attachment, attachment.kind != .image, content == attachment.name else { return content }
        return ""
    }
}

/// The delivery state of a change that was made on this device.
public enum Delivery: Sendable, Hashable {
    /// The server has the change.
    case sent
    /// The change is in the outbox. Until it is sent, it can be discarded by its number.
    case queued(change: Int64)
    /// The server refused the change with this error. It can be retried or discarded by its number.
    case refused(PostlineError, change: Int64)
}
