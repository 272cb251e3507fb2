public import Foundation

/// The public data of a user (`docs/protocol.md`, section 3, Profile). A profile is always complete.
public struct User: Sendable, Hashable, Codable, Identifiable {
    /// The user's id, a UUID, or `guest` for a guest that the server does not know yet.
    public let id: Identifier<User>
    /// The username, or nil if none is chosen yet or the user is deleted.
    public var username: String?
    /// The full name, 1 to 100 characters, or nil if it is unknown or the user is deleted.
    public var fullName: String?
    /// The user's description, at most 500 characters.
    public var bio: String?
    /// The type of the avatar, or nil for none. ``avatar`` says what to draw.
    public var avatarType: AvatarType?
    /// The id of the built-in avatar, if the user has one.
    public var avatarID: String?
    /// The https URL of the user's own picture, if there is one.
    public var avatarURL: String?
    /// The website, an https URL.
    public var website: String?
    /// The location in the user's words, at most 100 characters.
    public var location: String?
    /// The language by BCP 47, such as `de-AT`.
    public var languageCode: String?
    /// True if the service has verified the user's identity.
    public var isVerified: Bool
    /// True for a guest, a user without an account.
    public var isGuest: Bool
    /// True if the account is deleted. The server then sends no other data about the user.
    public var isDeleted: Bool
    /// The service's data about the user, such as ratings, tiers and counters. Clients cannot write it.
    public var attributes: [String: JSONValue]
    /// The version. It grows with each change.
    public var version: Int
    /// The time of registration.
    public var createdAt: Date
    /// The time of the last change.
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

extension User {
    /// Creates a profile, for previews and tests.
    ///
    /// - Parameters:
    ///   - id: The user's id.
    ///   - username: The username.
    ///   - fullName: The full name.
    ///   - bio: The user's description.
    ///   - avatarID: The id of the built-in avatar.
    ///   - avatarURL: The https URL of the user's own picture.
    ///   - isGuest: True for a guest.
    public init(
        id: User.ID, username: String? = nil, fullName: String?, bio: String? = nil, avatarID: String? = nil,
        avatarURL: String? = nil, isGuest: Bool = false
    ) {
        self.init(
            id: id, username: username, fullName: fullName, bio: bio,
            avatarType: avatarURL != nil ? .custom : avatarID != nil ? .builtIn : nil, avatarID: avatarID,
            avatarURL: avatarURL, isVerified: false, isGuest: isGuest, isDeleted: false, attributes: [:], version: 1,
            createdAt: Date(), updatedAt: Date())
    }

    /// The name to show: the full name, else the username, or nil for a deleted user.
    public var displayName: String? { fullName ?? username }

    /// The avatar to draw.
    public var avatar: Avatar { Avatar(self) }

    /// Returns the avatar to draw in an app that has pictures for these built-in avatars only. For other ids it returns
    /// the initials, as for a user without an avatar.
    ///
    /// - Parameter builtInIDs: The ids that the app can draw, such as ``BuiltInAvatar/standardIDs``, or those of
    ///   ``PostlineClient/builtInAvatars()``.
    public func avatar(builtInIDs: Set<String>) -> Avatar {
        if case .builtIn(let id) = avatar, !builtInIDs.contains(id) { return .initials(of: self) }
        return avatar
    }
}
