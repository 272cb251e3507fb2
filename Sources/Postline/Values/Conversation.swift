public import Foundation

/// A conversation as this user sees it, with its members' profiles.
public struct Conversation: Sendable, Hashable, Identifiable {
    /// The conversation's id, a UUID.
    public let id: Identifier<Conversation>

    /// The id of this user.
    public let myID: User.ID
    /// The kind: a direct conversation or a group.
    public var kind: ConversationKind
    /// The title of a group, or nil for a direct conversation.
    public var title: String?
    /// The id of the user who created it, or nil if it is unknown.
    public var createdBy: User.ID?
    /// The members, including this user.
    public var members: [Member]
    /// The members' complete profiles in order. A profile that is not on the device yet is missing.
    public var users: [User]
    /// The version. It grows with each change of the members, their roles, the title, the pins and the data.
    public var version: Int
    /// The number of the newest message, which counts deleted ones too.
    public var lastSeq: Int
    /// The first 200 characters of the newest message, sent or unsent. Nil if there is none or it is deleted.
    public var lastMessageContent: String?
    /// The time of the newest message, or nil if there is none.
    public var lastMessageTime: Date?
    /// The sender's id of the newest message, or nil if there is none.
    public var lastMessageSenderID: User.ID?
    /// True if the newest message is hidden as ``Message/isBlocked``, so that an app shows no preview of it.
    public var isLastMessageBlocked = false
    /// True for the direct conversation with a user whom this user blocks. Neither can write there.
    public var isBlocked = false
    /// The number of the last message that this user has read.
    public var lastReadSeq: Int
    /// The numbers of the messages that are pinned for all members, the last pinned first, at most 50.
    public var pinnedSeqs: [Int] = []
    /// The app's own data, or nil if there is none.
    public var data: [String: JSONValue]?
    /// The number of unread messages that mention this user or everyone.
    public var unreadMentions = 0
    /// True if this user has marked the conversation as unread. Reading or sending a message ends it.
    public var isMarkedUnread = false
    /// True if this user has archived the conversation. A message that mentions this user ends it.
    public var isArchived = false
    /// True if this user has pinned the conversation, to show it at the top of the list.
    public var isPinned = false
    /// The number of this user's messages that wait for their time (``PostlineClient/scheduledMessages(in:)``).
    public var scheduledCount = 0
    /// The number of this user's scheduled messages that the server refused when their time came.
    public var unsentCount = 0
    /// The time after which messages expire, or nil if they are kept. An expired message is deleted everywhere.
    public var messageTTL: Duration?
    /// The time of creation.
    public var createdAt: Date
    /// The time of the last change.
    public var updatedAt: Date
    /// The text that the user typed and has not sent.
    public var draft: String?
    /// The end of the mute, or nil if the conversation is not muted.
    public var mutedUntil: Date?
    /// The presence of the other members by user id. Unknown presence is missing.
    public var presence: [User.ID: Presence] = [:]

    /// True if the conversation is muted now.
    public var isMuted: Bool { mutedUntil.map { $0 > Date() } ?? false }

    /// The number of messages after the user's read mark.
    public var unreadCount: Int { max(0, lastSeq - lastReadSeq) }

    /// The other user of a direct conversation, or nil for a group.
    public var otherUser: User? { kind == .direct ? users.first { $0.id != myID } : nil }

    /// The presence of the other user of a direct conversation, or nil for a group or if it is unknown.
    public var otherUserPresence: Presence? { otherUser.flatMap { presence[$0.id] } }

    /// The name to show: a group's title, else the other user's name. Nil if the other user is deleted.
    public var displayName: String? { title ?? otherUser?.displayName }

    /// This user's own membership, or nil if it is unknown.
    public var myMembership: Member? { members.first { $0.userID == myID } }

    /// Creates a conversation, for previews and tests.
    ///
    /// - Parameters:
    ///   - id: The conversation's id.
    ///   - myID: The id of this user.
    ///   - kind: The kind. Without one, a conversation with a title is a group.
    ///   - title: The title of a group.
    ///   - users: The members' profiles, with this user's own.
    ///   - lastSeq: The number of messages.
    ///   - lastReadSeq: The number of the last message that this user has read.
    ///   - createdAt: The time of creation.
    public init(
        id: Conversation.ID, myID: User.ID, kind: ConversationKind? = nil, title: String? = nil, users: [User] = [],
        lastSeq: Int = 0, lastReadSeq: Int = 0, createdAt: Date = Date()
    ) {
        self.init(
            id: id, myID: myID, kind: kind ?? (title == nil ? .direct : .group), title: title,
            members: users.map { Member(userID: $0.id, role: .member, joinedAt: createdAt, lastReadSeq: 0) },
            users: users, version: 1, lastSeq: lastSeq, lastReadSeq: lastReadSeq, createdAt: createdAt,
            updatedAt: createdAt)
    }

    init(
        id: Conversation.ID, myID: User.ID, kind: ConversationKind, title: String? = nil, createdBy: User.ID? = nil,
        members: [Member], users: [User], version: Int, lastSeq: Int, lastMessageContent: String? = nil,
        lastMessageTime: Date? = nil, lastMessageSenderID: User.ID? = nil, lastReadSeq: Int, createdAt: Date,
        updatedAt: Date, draft: String? = nil, mutedUntil: Date? = nil, presence: [User.ID: Presence] = [:]
    ) {
        self.id = id
        self.myID = myID
        self.kind = kind
        self.title = title
        self.createdBy = createdBy
        self.members = members
        self.users = users
        self.version = version
        self.lastSeq = lastSeq
        self.lastMessageContent = lastMessageContent
        self.lastMessageTime = lastMessageTime
        self.lastMessageSenderID = lastMessageSenderID
        self.lastReadSeq = lastReadSeq
        self.createdAt = createdAt
        self.updatedAt = updatedAt
        self.draft = draft
        self.mutedUntil = mutedUntil
        self.presence = presence
    }

    /// A member of a conversation, with its marks.
    public struct Member: Sendable, Hashable, Codable, Identifiable {
        /// The user's id.
        public let userID: User.ID
        /// The member's role.
        public var role: MemberRole
        /// The time at which the user joined.
        public var joinedAt: Date
        /// The number of the last message that the member has read.
        public var lastReadSeq: Int
        /// The number of the last message that one of the member's devices has received, at least ``lastReadSeq``. In
        /// groups of more than 32 members, and from servers that do not report deliveries, it only follows that. For
        /// this user itself it may be late.
        public var lastDeliveredSeq: Int

        /// Creates a member, for previews and tests.
        public init(
            userID: User.ID, role: MemberRole = .member, joinedAt: Date = Date(), lastReadSeq: Int = 0,
            lastDeliveredSeq: Int = 0
        ) {
            self.userID = userID
            self.role = role
            self.joinedAt = joinedAt
            self.lastReadSeq = lastReadSeq
            self.lastDeliveredSeq = max(lastDeliveredSeq, lastReadSeq)
        }

        /// Creates a member from the protocol's object.
        public init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            let lastReadSeq = try members.decode(Int.self, forKey: .lastReadSeq)
            self.init(
                userID: try members.decode(User.ID.self, forKey: .userID),
                role: try members.decode(MemberRole.self, forKey: .role),
                joinedAt: try members.decode(Date.self, forKey: .joinedAt), lastReadSeq: lastReadSeq,
                lastDeliveredSeq: try members.decodeIfPresent(Int.self, forKey: .lastDeliveredSeq) ?? lastReadSeq)
        }

        /// The user's id, the same as ``userID``.
        public var id: User.ID { userID }

        enum CodingKeys: String, CodingKey {
            case role
            case userID = "user_id"
            case joinedAt = "joined_at"
            case lastReadSeq = "last_read_seq"
            case lastDeliveredSeq = "last_delivered_seq"
        }
    }
}
