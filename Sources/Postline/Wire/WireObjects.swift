import Foundation

/// The protocol's conversation object.
struct WireConversation: Sendable, Codable {
    var id: Conversation.ID
    var kind: ConversationKind
    var title: String?
    var createdBy: User.ID?
    var members: [Conversation.Member]
    var lastSeq: Int
    var version: Int
    var lastMessageContent: String?
    var lastMessageTime: Date?
    var lastMessageSenderID: User.ID?
    var lastReadSeq: Int
    var createdAt: Date
    var updatedAt: Date
    /// The end of the mute. Nil also from a server that does not support mutes.
    var mutedUntil: Date?
    // Nil from a server that does not support them.
    var pinnedSeqs: [Int]?
    var data: [String: JSONValue]?
    var unreadMentions: Int?
    var isMarkedUnread: Bool?
    var isArchived: Bool?
    var isPinned: Bool?
    var scheduledCount: Int?
    var unsentCount: Int?
    /// The number of the oldest message that has not expired.
    var firstSeq: Int?
    var messageTTLSeconds: Int?
    /// The members' profiles, if the request asked for them.
    var profiles: [User]?

    enum CodingKeys: String, CodingKey {
        case id, kind, title, members, version, profiles, data
        case createdBy = "created_by"
        case lastSeq = "last_seq"
        case lastMessageContent = "last_message_content"
        case lastMessageTime = "last_message_time"
        case lastMessageSenderID = "last_message_sender_id"
        case lastReadSeq = "last_read_seq"
        case createdAt = "created_at"
        case updatedAt = "updated_at"
        case mutedUntil = "muted_until"
        case pinnedSeqs = "pinned_seqs"
        case unreadMentions = "unread_mentions"
        case isMarkedUnread = "is_marked_unread"
        case isArchived = "is_archived"
        case isPinned = "is_pinned"
        case scheduledCount = "scheduled_count"
        case unsentCount = "unsent_count"
        case firstSeq = "first_seq"
        case messageTTLSeconds = "message_ttl_seconds"
    }
}

/// The protocol's message object, without the sender's profile, which comes separately.
struct WireMessage: Sendable, Codable {
    var id: String
    var conversationID: Conversation.ID
    var seq: Int
    var senderID: User.ID
    var clientID: String?
    var kind: MessageKind
    var content: String?
    var attachment: Message.Attachment?
    /// All attachments. Nil from a server that supports only one.
    var attachments: [Message.Attachment]?
    var event: GroupEvent?
    var version: Int
    var createdAt: Date
    var editedAt: Date?
    var deletedAt: Date?
    var replyTo: Message.Quote?
    // Nil from a server that does not support mentions.
    var mentions: [User.ID]?
    var mentionsEveryone: Bool?
    var data: [String: JSONValue]?
    /// True for a message of this user that waits for a moderator.
    var isHeld: Bool?

    /// All attachments, also of a server that supports only one.
    var allAttachments: [Message.Attachment] { attachments ?? attachment.map { [$0] } ?? [] }

    /// Returns true if another user sent it, and mentions this user or everyone.
    func mentions(_ userID: User.ID) -> Bool {
        senderID != userID && (mentionsEveryone == true || mentions?.contains(userID) == true)
    }

    enum CodingKeys: String, CodingKey {
        case id, seq, kind, content, attachment, attachments, event, version, mentions, data
        case conversationID = "conversation_id"
        case senderID = "sender_id"
        case clientID = "client_id"
        case createdAt = "created_at"
        case editedAt = "edited_at"
        case deletedAt = "deleted_at"
        case replyTo = "reply_to"
        case mentionsEveryone = "mentions_everyone"
        case isHeld = "is_held"
    }
}

/// The reactions to a message.
struct WireReactions: Sendable, Codable {
    var conversationID: Conversation.ID
    var seq: Int
    var version: Int
    /// The number of users by emoji.
    var counts: [String: Int]
    /// The reactions of this user, or nil in a push of another user's reaction.
    var own: [String]?

    enum CodingKeys: String, CodingKey {
        case seq, version, counts, own
        case conversationID = "conversation_id"
    }
}

/// Text of a message that is streaming.
struct WirePiece: Sendable, Codable {
    var conversationID: Conversation.ID
    var seq: Int
    /// The number of characters (code points) before it.
    var start: Int
    var content: String

    enum CodingKeys: String, CodingKey {
        case seq, start, content
        case conversationID = "conversation_id"
    }
}

/// A member's read mark.
struct WireRead: Sendable, Codable {
    var conversationID: Conversation.ID
    var userID: User.ID
    var lastReadSeq: Int

    enum CodingKeys: String, CodingKey {
        case conversationID = "conversation_id"
        case userID = "user_id"
        case lastReadSeq = "last_read_seq"
    }
}

/// A member's delivered mark.
struct WireDelivered: Sendable, Codable {
    var conversationID: Conversation.ID
    var userID: User.ID
    var lastDeliveredSeq: Int

    enum CodingKeys: String, CodingKey {
        case conversationID = "conversation_id"
        case userID = "user_id"
        case lastDeliveredSeq = "last_delivered_seq"
    }
}

/// A user's presence.
struct WirePresence: Sendable, Codable {
    var userID: User.ID
    var isOnline: Bool
    var lastSeenAt: Date?

    enum CodingKeys: String, CodingKey {
        case userID = "user_id"
        case isOnline = "is_online"
        case lastSeenAt = "last_seen_at"
    }
}

/// A typing notice.
struct WireTyping: Sendable, Codable {
    var conversationID: Conversation.ID
    var userID: User.ID
    var isTyping: Bool
    /// The seconds until the notice expires.
    var expiresIn: Double?

    enum CodingKeys: String, CodingKey {
        case conversationID = "conversation_id"
        case userID = "user_id"
        case isTyping = "is_typing"
        case expiresIn = "expires_in"
    }
}

/// A set of changed objects that the user may see, each complete (`docs/protocol.md`, section 3, Changes).
struct Changes: Sendable, Decodable {
    /// The position after these changes, or nil for objects of another response.
    var cursor: String?
    var reset = false
    var more = false
    var me: Me?
    /// All users whom the user blocks, or nil if they are the same as before.
    var blocked: [User.ID]?
    var profiles: [User] = []
    var conversations: [WireConversation] = []
    var messages: [WireMessage] = []
    var pieces: [WirePiece] = []
    var reactions: [WireReactions] = []
    var reads: [WireRead] = []
    var delivered: [WireDelivered] = []
    var presence: [WirePresence] = []
    var left: [Conversation.ID] = []

    init() {}

    /// Checks that all numbers are in the range that a server counts in, so that arithmetic cannot overflow.
    ///
    /// - Throws: ``PostlineError``, `malformed_answer`.
    func checkNumbers() throws {
        guard hasValidNumbers else {
            throw PostlineError(.malformedAnswer, "The server sent a message number that is out of range.")
        }
    }

    private var hasValidNumbers: Bool {
        let counts = 0...(1 << 53)
        return conversations.allSatisfy {
            counts.contains($0.lastSeq) && counts.contains($0.lastReadSeq)
                && counts.contains($0.unreadMentions ?? 0) && counts.contains($0.firstSeq ?? 1)
                && counts.contains($0.messageTTLSeconds ?? 0) && $0.pinnedSeqs?.allSatisfy(counts.contains) != false
                && $0.members.allSatisfy { counts.contains($0.lastReadSeq) && counts.contains($0.lastDeliveredSeq) }
        } && messages.allSatisfy { counts.contains($0.seq) && counts.contains($0.replyTo?.seq ?? 0) }
            && pieces.allSatisfy { counts.contains($0.seq) && counts.contains($0.start) }
            && reads.allSatisfy { counts.contains($0.lastReadSeq) }
            && delivered.allSatisfy { counts.contains($0.lastDeliveredSeq) }
            && reactions.allSatisfy { counts.contains($0.seq) && $0.counts.values.allSatisfy(counts.contains) }
    }

    enum CodingKeys: String, CodingKey {
        case cursor, reset, more, me, blocked, profiles, conversations, messages, pieces, reactions, reads, delivered
        case presence, left
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        cursor = try members.decodeIfPresent(String.self, forKey: .cursor)
        reset = try members.decodeIfPresent(Bool.self, forKey: .reset) ?? false
        more = try members.decodeIfPresent(Bool.self, forKey: .more) ?? false
        me = try members.decodeIfPresent(Me.self, forKey: .me)
        blocked = try members.decodeIfPresent([User.ID].self, forKey: .blocked)
        profiles = try members.decodeIfPresent([User].self, forKey: .profiles) ?? []
        conversations = try members.decodeIfPresent([WireConversation].self, forKey: .conversations) ?? []
        messages = try members.decodeIfPresent([WireMessage].self, forKey: .messages) ?? []
        pieces = try members.decodeIfPresent([WirePiece].self, forKey: .pieces) ?? []
        reactions = try members.decodeIfPresent([WireReactions].self, forKey: .reactions) ?? []
        reads = try members.decodeIfPresent([WireRead].self, forKey: .reads) ?? []
        delivered = try members.decodeIfPresent([WireDelivered].self, forKey: .delivered) ?? []
        presence = try members.decodeIfPresent([WirePresence].self, forKey: .presence) ?? []
        left = try members.decodeIfPresent([Conversation.ID].self, forKey: .left) ?? []
    }
}
