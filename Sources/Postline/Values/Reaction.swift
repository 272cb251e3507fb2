public import Foundation

/// A reaction to a message, with the number of users who have set it.
public struct Reaction: Sendable, Hashable, Identifiable {
    /// The emoji, or a name of the app such as `party_parrot`.
    public let emoji: String
    /// The number of users.
    public var count: Int
    /// True if this user has set it.
    public var isMine: Bool

    /// The emoji, the same as ``emoji``.
    public var id: String { emoji }

    /// Creates a reaction, for previews and tests.
    public init(emoji: String, count: Int, isMine: Bool = false) {
        self.emoji = emoji
        self.count = count
        self.isMine = isMine
    }
}

/// A page of the users who have reacted to a message (``PostlineClient/reactions(to:emoji:limit:after:)``).
public struct ReactionPage: Sendable, Hashable, Decodable {
    /// The reactions, the first ones first.
    public var reactions: [UserReaction]
    /// The `after` of the next page, or nil at the end.
    public var next: String?

    /// The reaction of one user.
    public struct UserReaction: Sendable, Hashable, Decodable {
        /// The user's id.
        public let userID: User.ID
        /// The emoji, or a name of the app.
        public let emoji: String
        /// The time of the reaction.
        public let createdAt: Date

        enum CodingKeys: String, CodingKey {
            case emoji
            case userID = "user_id"
            case createdAt = "created_at"
        }
    }
}
