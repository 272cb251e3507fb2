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
    /// The kind: a text, a picture, or a message of the server.
    public var kind: MessageKind
    /// The text, or nil if the message is deleted.
    public var content: String?
    /// The picture, or nil if there is none or the message is deleted.
    public var attachment: Attachment?
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
    ///   - attachment: The picture.
    ///   - event: The change of the group that the message reports.
    ///   - isRead: True if all other members have read it.
    ///   - createdAt: The time of sending.
    ///   - editedAt: The time of the last edit.
    ///   - deletedAt: The time of the deletion.
    ///   - delivery: The delivery state.
    ///   - isMine: True if this user sent it.
    public init(
        id: Message.ID, conversationID: Conversation.ID, seq: Int?, senderID: User.ID, sender: User? = nil,
        kind: MessageKind = .text, content: String?, attachment: Attachment? = nil, event: GroupEvent? = nil,
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
        self.attachment = attachment
        self.event = event
        self.isRead = isRead
        isDelivered = isRead
        self.createdAt = createdAt
        self.editedAt = editedAt
        self.deletedAt = deletedAt
        self.delivery = delivery
        self.isMine = isMine
    }

    /// A picture of a message.
    public struct Attachment: Sendable, Hashable, Codable {
        /// The https URL, at most 2,048 bytes. It is empty for an uploaded picture until it is sent, and does not show
        /// one: call ``PictureLoader/picture(of:maxPixels:progress:)``.
        public var url: String
        /// The id of an uploaded picture, or nil for a picture elsewhere.
        public var mediaID: String?
        /// The MIME type, such as `image/jpeg`, at most 255 bytes.
        public var mimeType: String?
        /// The width in pixels.
        public var width: Int?
        /// The height in pixels.
        public var height: Int?
        /// The size of the file, in bytes.
        public var bytes: Int?
        /// A placeholder to show until the picture is loaded (``BlurHash``).
        public var blurhash: String?
        /// The picture's file on this device while the message waits in the outbox, nil otherwise.
        public internal(set) var fileURL: URL?

        /// Creates an attachment for a picture that is available at a URL.
        public init(
            url: String, mimeType: String? = nil, width: Int? = nil, height: Int? = nil, bytes: Int? = nil
        ) {
            self.url = url
            self.mimeType = mimeType
            self.width = width
            self.height = height
            self.bytes = bytes
        }

        /// Creates an attachment for an uploaded picture.
        init(mediaID: String, mimeType: String, width: Int?, height: Int?, bytes: Int, blurhash: String?) {
            self.init(url: "", mimeType: mimeType, width: width, height: height, bytes: bytes)
            self.mediaID = mediaID
            self.blurhash = blurhash
        }

        enum CodingKeys: String, CodingKey {
            case url, width, height, bytes, blurhash
            case mediaID = "media_id"
            case mimeType = "mime_type"
        }
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
