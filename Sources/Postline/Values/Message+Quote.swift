extension Message {
    /// The message that another one answers, in short.
    public struct Quote: Sendable, Hashable, Codable {
        /// The number of the quoted message. ``Chat/jump(toSeq:)`` shows it.
        public let seq: Int
        /// The sender's id, or nil if the message is not known yet.
        public var senderID: User.ID?
        /// The sender's current profile, or nil if it is not on the device.
        public var sender: User?
        /// The kind, or nil if the message is not known yet.
        public var kind: MessageKind?
        /// The first 100 characters of the text. Nil if the message is deleted, or not known yet.
        public var content: String?
        /// True if the quoted message is hidden as ``Message/isBlocked``.
        public var isBlocked = false
        /// The version of the quoted message, or 0 if it is not known yet.
        public var version: Int

        /// Creates a quote, for previews and tests.
        public init(
            seq: Int, senderID: User.ID? = nil, sender: User? = nil, kind: MessageKind? = .text, content: String? = nil,
            version: Int = 0
        ) {
            self.seq = seq
            self.senderID = senderID
            self.sender = sender
            self.kind = kind
            self.content = content
            self.version = version
        }

        enum CodingKeys: String, CodingKey {
            case seq, kind, content, version
            case senderID = "sender_id"
        }
    }
}
