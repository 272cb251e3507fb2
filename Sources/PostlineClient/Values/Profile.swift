public import Foundation

/// What every user may see of another (`docs/protocol.md`, section 3, Profile). It is always whole.
public struct Profile: Sendable, Hashable, Codable, Identifiable {
    public let id: String
    /// Nil until the user has chosen one, and for a user who is deleted.
    public var username: String?
    public var fullName: String?
    public var bio: String?
    public var avatarType: AvatarType?
    public var avatarID: String?
    public var avatarURL: String?
    public var website: String?
    public var location: String?
    public var languageCode: String?
    public var isVerified: Bool
    public var isGuest: Bool
    public var isDeleted: Bool
    /// What the service says of the user: ratings, tiers, counters. No client writes it.
    public var attributes: [String: JSONValue]
    /// Grows with each change.
    public var version: Int
    public var createdAt: Date
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
}
