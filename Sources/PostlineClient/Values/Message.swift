public import Foundation

/// A message, sent or still on its way.
public struct Message: Sendable, Hashable, Identifiable {
    /// Stays the same from the moment at which it was queued on this device.
    public let id: String
    /// Where it is said.
    public let conversationID: String
    /// Its place in the conversation, 1 and up without a gap; nil until the server has it.
    public var seq: Int?
    /// Who says it.
    public let senderID: String
    /// The newest profile of the sender; nil where none is here.
    public var sender: Profile?
    /// What it is: a text, a picture, or a word of the server's.
    public var kind: MessageKind
    /// Nil where it is deleted.
    public var content: String?
    /// Its picture; nil where it has none, or it is deleted.
    public var attachment: Attachment?
    /// The change of the group that it tells; nil if it tells none, or is deleted.
    public var event: GroupEvent?
    /// Whether every other member has read it.
    public var isRead: Bool
    /// When it was sent; until the server has it, when it was written, by the device's clock.
    public var createdAt: Date
    /// When it was last edited; nil: never.
    public var editedAt: Date?
    /// When it was deleted; nil: it is not.
    public var deletedAt: Date?
    /// Where it, or its newest edit or deletion, is.
    public var delivery: Delivery

    /// A picture of a message.
    public struct Attachment: Sendable, Hashable, Codable {
        /// Where it is: an https URL, of at most 2,048 bytes. Of a picture that was uploaded it shows nothing by itself:
        /// ``PostlineClient/PostlineClient/urls(of:)`` does; empty until it is sent.
        public var url: String
        /// The picture that was uploaded; nil where it is elsewhere.
        public var mediaID: String?
        /// Such as `image/jpeg`; at most 255 bytes.
        public var mimeType: String?
        /// In pixels.
        public var width: Int?
        /// In pixels.
        public var height: Int?
        /// The size of the file, in bytes.
        public var bytes: Int?
        /// What is shown until the picture is there.
        public var blurhash: String?

        /// A picture that is somewhere else already.
        public init(
            url: String, mimeType: String? = nil, width: Int? = nil, height: Int? = nil, bytes: Int? = nil
        ) {
            self.url = url
            self.mimeType = mimeType
            self.width = width
            self.height = height
            self.bytes = bytes
        }

        /// One that was uploaded.
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

/// How far a change has come that was made on this device.
public enum Delivery: Sendable, Hashable {
    /// The server has it.
    case sent
    /// It is kept on this device, and goes out as soon as it can; until then it can be discarded by its number.
    case queued(change: Int64)
    /// The server refused it, with its sentence; it can be tried again or discarded by its number.
    case refused(PostlineError, change: Int64)
}
