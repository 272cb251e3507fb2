public import Foundation

/// A conversation as this user sees it, with its members' profiles.
public struct Conversation: Sendable, Hashable, Identifiable {
    /// The conversation's id, a UUID.
    public let id: String
    /// The kind: a direct conversation or a group.
    public var kind: ConversationKind
    /// The title of a group, or nil for a direct conversation.
    public var title: String?
    /// The id of the user who created it, or nil if it is unknown.
    public var createdBy: String?
    /// The members, including this user.
    public var members: [Member]
    /// The members' complete profiles in order. A profile that is not on the device yet is missing.
    public var people: [Profile]
    /// The version. It grows with each change of the members, their roles and the title.
    public var version: Int
    /// The number of the newest message, which counts deleted ones too.
    public var lastSeq: Int
    /// The first 200 characters of the newest message, sent or unsent. Nil if there is none or it is deleted.
    public var lastMessageContent: String?
    /// The time of the newest message, or nil if there is none.
    public var lastMessageTime: Date?
    /// The sender's id of the newest message, or nil if there is none.
    public var lastMessageSenderID: String?
    /// The number of the last message that this user has read.
    public var lastReadSeq: Int
    /// The time of creation.
    public var createdAt: Date
    /// The time of the last change.
    public var updatedAt: Date
    /// The text that the user typed and has not sent.
    public var draft: String?
    /// The end of the mute, or nil if the conversation is not muted.
    public var mutedUntil: Date?
    /// The presence of the other members by user id. Unknown presence is missing.
    public var presence: [String: Presence] = [:]

    /// True if the conversation is muted now.
    public var isMuted: Bool { mutedUntil.map { $0 > Date() } ?? false }

    /// Returns the presence of the other user of a direct conversation, or nil for a group or if it is unknown.
    public func presenceOfOtherUser(than userID: String) -> Presence? {
        otherUser(than: userID).flatMap { presence[$0.id] }
    }

    /// The number of messages after the user's read mark.
    public var unreadCount: Int { max(0, lastSeq - lastReadSeq) }

    /// Returns the other user of a direct conversation, or nil for a group.
    public func otherUser(than userID: String) -> Profile? {
        kind == .direct ? people.first { $0.id != userID } : nil
    }

    /// Returns the name to show: a group's title, else the other user's name.
    public func name(for userID: String) -> String? { title ?? otherUser(than: userID)?.displayName }

    /// A member of a conversation, with its read mark.
    public struct Member: Sendable, Hashable, Codable, Identifiable {
        /// The user's id.
        public let userID: String
        /// The member's role.
        public var role: MemberRole
        /// The time at which the user joined.
        public var joinedAt: Date
        /// The number of the last message that the member has read.
        public var lastReadSeq: Int

        /// The user's id, the same as ``userID``.
        public var id: String { userID }

        enum CodingKeys: String, CodingKey {
            case role
            case userID = "user_id"
            case joinedAt = "joined_at"
            case lastReadSeq = "last_read_seq"
        }
    }
}
