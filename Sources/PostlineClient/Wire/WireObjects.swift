import Foundation

/// A conversation as the protocol has it.
struct WireConversation: Sendable, Codable {
    var id: String
    var kind: ConversationKind
    var title: String?
    var createdBy: String?
    var members: [Conversation.Member]
    var lastSeq: Int
    var version: Int
    var lastMessageContent: String?
    var lastMessageTime: Date?
    var lastMessageSenderID: String?
    var lastReadSeq: Int
    var createdAt: Date
    var updatedAt: Date
    /// Nil of a server that does not know of it, too.
    var mutedUntil: Date?
    /// Where the answer comes with its people.
    var profiles: [Profile]?

    enum CodingKeys: String, CodingKey {
        case id, kind, title, members, version, profiles
        case createdBy = "created_by"
        case lastSeq = "last_seq"
        case lastMessageContent = "last_message_content"
        case lastMessageTime = "last_message_time"
        case lastMessageSenderID = "last_message_sender_id"
        case lastReadSeq = "last_read_seq"
        case createdAt = "created_at"
        case updatedAt = "updated_at"
        case mutedUntil = "muted_until"
    }
}

/// A message as the protocol has it, without the sender's profile, which comes by itself.
struct WireMessage: Sendable, Codable {
    var id: String
    var conversationID: String
    var seq: Int
    var senderID: String
    var clientID: String?
    var kind: MessageKind
    var content: String?
    var attachment: Message.Attachment?
    var event: GroupEvent?
    var version: Int
    var createdAt: Date
    var editedAt: Date?
    var deletedAt: Date?

    enum CodingKeys: String, CodingKey {
        case id, seq, kind, content, attachment, event, version
        case conversationID = "conversation_id"
        case senderID = "sender_id"
        case clientID = "client_id"
        case createdAt = "created_at"
        case editedAt = "edited_at"
        case deletedAt = "deleted_at"
    }
}

/// How far somebody has read.
struct WireRead: Sendable, Codable {
    var conversationID: String
    var userID: String
    var lastReadSeq: Int

    enum CodingKeys: String, CodingKey {
        case conversationID = "conversation_id"
        case userID = "user_id"
        case lastReadSeq = "last_read_seq"
    }
}

/// Whether somebody is online, and when it last was.
struct WirePresence: Sendable, Codable {
    var userID: String
    var isOnline: Bool
    var lastSeenAt: Date?

    enum CodingKeys: String, CodingKey {
        case userID = "user_id"
        case isOnline = "is_online"
        case lastSeenAt = "last_seen_at"
    }
}

/// Somebody types, or does not any more.
struct WireTyping: Sendable, Codable {
    var conversationID: String
    var userID: String
    var isTyping: Bool
    /// For how many seconds it is so.
    var expiresIn: Double?

    enum CodingKeys: String, CodingKey {
        case conversationID = "conversation_id"
        case userID = "user_id"
        case isTyping = "is_typing"
        case expiresIn = "expires_in"
    }
}

/// What the user may see and has changed, whole objects all (`docs/protocol.md`, section 3, Changes).
struct Changes: Sendable, Decodable {
    /// Nil where the objects come from an answer, not from the sync.
    var cursor: String?
    var reset = false
    var more = false
    var me: Me?
    var profiles: [Profile] = []
    var conversations: [WireConversation] = []
    var messages: [WireMessage] = []
    var reads: [WireRead] = []
    var presence: [WirePresence] = []
    var left: [String] = []

    init() {}

    /// Whether all numbers are such as a server counts, with which one can reckon.
    var hasValidNumbers: Bool {
        let counts = 0...(1 << 53)
        return conversations.allSatisfy {
            counts.contains($0.lastSeq) && counts.contains($0.lastReadSeq)
                && $0.members.allSatisfy { counts.contains($0.lastReadSeq) }
        } && messages.allSatisfy { counts.contains($0.seq) } && reads.allSatisfy { counts.contains($0.lastReadSeq) }
    }

    enum CodingKeys: String, CodingKey {
        case cursor, reset, more, me, profiles, conversations, messages, reads, presence, left
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        cursor = try members.decodeIfPresent(String.self, forKey: .cursor)
        reset = try members.decodeIfPresent(Bool.self, forKey: .reset) ?? false
        more = try members.decodeIfPresent(Bool.self, forKey: .more) ?? false
        me = try members.decodeIfPresent(Me.self, forKey: .me)
        profiles = try members.decodeIfPresent([Profile].self, forKey: .profiles) ?? []
        conversations = try members.decodeIfPresent([WireConversation].self, forKey: .conversations) ?? []
        messages = try members.decodeIfPresent([WireMessage].self, forKey: .messages) ?? []
        reads = try members.decodeIfPresent([WireRead].self, forKey: .reads) ?? []
        presence = try members.decodeIfPresent([WirePresence].self, forKey: .presence) ?? []
        left = try members.decodeIfPresent([String].self, forKey: .left) ?? []
    }
}
