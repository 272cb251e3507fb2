public import Foundation

/// What every user may see of another (`docs/protocol.md`, section 3, Profile). It is always whole.
public struct Profile: Sendable, Hashable, Codable, Identifiable {
    /// The user's id, a UUID; `guest` for a guest whom the server does not know yet.
    public let id: String
    /// Nil until the user has chosen one, and for a user who is deleted.
    public var username: String?
    /// 1 to 100 characters; nil where it is not known, and for a user who is deleted.
    public var fullName: String?
    /// What the user says of itself, at most 500 characters.
    public var bio: String?
    /// Which picture stands for the user; nil: none. ``avatar`` says what to draw.
    public var avatarType: AvatarType?
    /// Which of the server's catalogue, where it is one of that.
    public var avatarID: String?
    /// An https URL, where it is a picture of the user's own.
    public var avatarURL: String?
    /// An https URL.
    public var website: String?
    /// Where the user is, in its own words; at most 100 characters.
    public var location: String?
    /// A language by BCP 47, such as `de-AT`.
    public var languageCode: String?
    /// Whether the service vouches for who it is.
    public var isVerified: Bool
    /// Whether it is a guest, without an account.
    public var isGuest: Bool
    /// Whether the account is deleted: nothing else is told of it then.
    public var isDeleted: Bool
    /// What the service says of the user: ratings, tiers, counters. No client writes it.
    public var attributes: [String: JSONValue]
    /// Grows with each change.
    public var version: Int
    /// When the user came.
    public var createdAt: Date
    /// When the profile was last changed.
    public var updatedAt: Date

    enum CodingKeys: String, CodingKey {
        case id, username, bio, website, location, attributes, version
        case fullName = "full_name"
        case avatarType = "avatar_type"
        case avatarID = "avatar_id"
        case avatarURL = "avatar_url"
        case languageCode = "language_code"
        case isVerified = "is_verified"
        case isGuest = "is_guest"
        case isDeleted = "is_deleted"
        case createdAt = "created_at"
        case updatedAt = "updated_at"
    }
}

extension Profile {
    /// The name to show: the full name, else the username; nil for a user who is deleted.
    public var displayName: String? { fullName ?? username }

    /// What to draw for the user.
    public var avatar: Avatar { Avatar(self) }

    /// Returns what to draw for the user in an app that has pictures for these built-in avatars only. For any other id
    /// it is the user's initials, as for a user without an avatar.
    ///
    /// - Parameter builtInIDs: the ids that the app can draw, such as ``BuiltInAvatar/standardIDs``, or those of
    ///   ``PostlineClient/PostlineClient/builtInAvatars()``.
    public func avatar(builtInIDs: Set<String>) -> Avatar {
        if case .builtIn(let id) = avatar, !builtInIDs.contains(id) { return .initials(of: self) }
        return avatar
    }
}
