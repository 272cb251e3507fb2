public import Foundation

/// A conversation as its member on this device sees it, with its people.
public struct Conversation: Sendable, Hashable, Identifiable {
    public let id: String
    public var kind: ConversationKind
    /// A group's; nil for a direct one.
    public var title: String?
    public var createdBy: String?
    public var members: [Member]
    /// The whole profiles of the members, in their order; of one whose profile is not here yet there is none.
    public var people: [Profile]
    public var version: Int
    /// The number of messages there ever were.
    public var lastSeq: Int
    /// The first 200 characters of the newest message; nil where there is none, or it is deleted.
    public var lastMessageContent: String?
    public var lastMessageTime: Date?
    public var lastMessageSenderID: String?
    /// How far this user has read.
    public var lastReadSeq: Int
    public var createdAt: Date
    public var updatedAt: Date
    /// What was typed and not sent.
    public var draft: String?

    /// The messages after the user's mark.
    public var unreadCount: Int { max(0, lastSeq - lastReadSeq) }

    /// The other one of a direct conversation; nil for a group.
    public func other(than userID: String) -> Profile? {
        kind == .direct ? people.first { $0.id != userID } : nil
    }

    /// What to call it: a group's title, else the other's name.
    public func name(for userID: String) -> String? { title ?? other(than: userID)?.displayName }

    /// Who is in it, and how far it has read.
    public struct Member: Sendable, Hashable, Codable, Identifiable {
        public let userID: String
        public var role: MemberRole
        public var joinedAt: Date
        public var lastReadSeq: Int

        public var id: String { userID }

        enum CodingKeys: String, CodingKey {
            case role
            case userID = "user_id"
            case joinedAt = "joined_at"
            case lastReadSeq = "last_read_seq"
        }
    }
}
