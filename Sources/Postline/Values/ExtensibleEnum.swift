/// An enumeration of the protocol that may get new cases. A value that this version does not know is kept.
public protocol ExtensibleEnum: RawRepresentable, Codable, Sendable, Hashable, ExpressibleByStringLiteral,
    CustomStringConvertible
where RawValue == String, StringLiteralType == String {
    /// Creates a value from the protocol's name, known to this version or not.
    init(rawValue: String)
}

extension ExtensibleEnum {
    /// Creates a value from the protocol's name, known to this version or not.
    public init(stringLiteral value: String) { self.init(rawValue: value) }
    /// Decodes the name from a string.
    ///
    /// - Throws: `DecodingError` for another type.
    public init(from decoder: any Decoder) throws {
        self.init(rawValue: try decoder.singleValueContainer().decode(String.self))
    }
    /// Encodes the name as a string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
    /// The protocol's name.
    public var description: String { rawValue }
}

/// The type of a user's avatar.
public struct AvatarType: ExtensibleEnum {
    /// The protocol's name.
    public let rawValue: String
    /// Creates a value from the protocol's name, known to this version or not.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// A built-in avatar of the server.
    public static let builtIn: Self = "built_in"
    /// The user's own picture.
    public static let custom: Self = "custom"
}

/// The units to show to a user.
public struct UnitSystem: ExtensibleEnum {
    /// The protocol's name.
    public let rawValue: String
    /// Creates a value from the protocol's name, known to this version or not.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Metres and kilograms.
    public static let metric: Self = "metric"
    /// Feet and pounds.
    public static let imperial: Self = "imperial"
}

/// A user's biological sex.
public struct BiologicalSex: ExtensibleEnum {
    /// The protocol's name.
    public let rawValue: String
    /// Creates a value from the protocol's name, known to this version or not.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Male.
    public static let male: Self = "male"
    /// Female.
    public static let female: Self = "female"
    /// Neither of these.
    public static let other: Self = "other"
}

/// The kind of a conversation.
public struct ConversationKind: ExtensibleEnum {
    /// The protocol's name.
    public let rawValue: String
    /// Creates a value from the protocol's name, known to this version or not.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// A direct conversation of two users.
    public static let direct: Self = "direct"
    /// A group of up to 256 users, with a title.
    public static let group: Self = "group"
}

/// The role of a member in a group.
public struct MemberRole: ExtensibleEnum {
    /// The protocol's name.
    public let rawValue: String
    /// Creates a value from the protocol's name, known to this version or not.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The owner, who has all rights and can transfer the group.
    public static let owner: Self = "owner"
    /// An admin, who can rename the group, and add and remove members.
    public static let admin: Self = "admin"
    /// A member, who can read and write.
    public static let member: Self = "member"
}

/// The kind of a message.
public struct MessageKind: ExtensibleEnum {
    /// The protocol's name.
    public let rawValue: String
    /// Creates a value from the protocol's name, known to this version or not.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// A text.
    public static let text: Self = "text"
    /// A picture, with or without a text, and maybe more attachments.
    public static let image: Self = "image"
    /// A video, with or without a text, and maybe more attachments.
    public static let video: Self = "video"
    /// An audio, such as a voice message, with or without a text, and maybe more attachments.
    public static let audio: Self = "audio"
    /// A file, with or without a text, and maybe more attachments.
    public static let file: Self = "file"
    /// A message of the app's own kind, with ``Message/data``.
    public static let custom: Self = "custom"
    /// A message of the server.
    public static let system: Self = "system"
}
