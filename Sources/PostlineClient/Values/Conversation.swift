public import Foundation

/// A conversation as its member on this device sees it, with its people.
public struct Conversation: Sendable, Hashable, Identifiable {
    /// The conversation's id, a UUID.
    public let id: String
    /// Whether it is for two people or a group.
    public var kind: ConversationKind
    /// A group's; nil for a direct one.
    public var title: String?
    /// Who made it; nil where it is not told.
    public var createdBy: String?
    /// Who is in it, this user too.
    public var members: [Member]
    /// The whole profiles of the members, in their order; of one whose profile is not here yet there is none.
    public var people: [Profile]
    /// Grows with each change of its members, their roles and its title.
    public var version: Int
    /// The number of messages there ever were.
    public var lastSeq: Int
    /// The first 200 characters of the newest message, also of one that is on its way; nil where there is none, or it is deleted.
    public var lastMessageContent: String?
    /// When the newest message was sent; nil where there is none.
    public var lastMessageTime: Date?
    /// Who sent the newest message; nil where there is none.
    public var lastMessageSenderID: String?
    /// How far this user has read.
    public var lastReadSeq: Int
    /// When it was made.
    public var createdAt: Date
    /// When it was last changed.
    public var updatedAt: Date
    /// What was typed and not sent.
    public var draft: String?
    /// Until when no push tells of its messages; nil where it is not muted.
    public var mutedUntil: Date?
    /// Whether the other members are online, by their ids; of one of whom nothing is known there is none.
    public var presence: [String: Presence] = [:]

    /// Whether no push tells of its messages now.
    public var isMuted: Bool { mutedUntil.map { $0 > Date() } ?? false }

    /// Whether the other one of a direct conversation is online; nil for a group, and where nothing is known.
    public func presenceOfOtherUser(than userID: String) -> Presence? {
        otherUser(than: userID).flatMap { presence[$0.id] }
    }

    /// The messages after the user's mark.
    public var unreadCount: Int { max(0, lastSeq - lastReadSeq) }

    /// The other one of a direct conversation; nil for a group.
    public func otherUser(than userID: String) -> Profile? {
        kind == .direct ? people.first { $0.id != userID } : nil
    }

    /// What to call it: a group's title, else the other's name.
    public func name(for userID: String) -> String? { title ?? otherUser(than: userID)?.displayName }

    /// Who is in it, and how far it has read.
    public struct Member: Sendable, Hashable, Codable, Identifiable {
        /// Who it is.
        public let userID: String
        /// What it may do here.
        public var role: MemberRole
        /// Since when it is in it.
        public var joinedAt: Date
        /// The number of the last message that it has read.
        public var lastReadSeq: Int

        /// The same as ``userID``.
        public var id: String { userID }

        enum CodingKeys: String, CodingKey {
            case role
            case userID = "user_id"
            case joinedAt = "joined_at"
            case lastReadSeq = "last_read_seq"
        }
    }
}
