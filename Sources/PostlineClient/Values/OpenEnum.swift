/// A word of the protocol whose list may grow: one that this version does not know is kept as it is.
public protocol OpenEnum: RawRepresentable, Codable, Sendable, Hashable, ExpressibleByStringLiteral,
    CustomStringConvertible
where RawValue == String, StringLiteralType == String {
    /// Takes the protocol's word, whether this version knows it or not.
    init(rawValue: String)
}

extension OpenEnum {
    /// Takes the protocol's word, whether this version knows it or not.
    public init(stringLiteral value: String) { self.init(rawValue: value) }
    /// Reads the word from a string.
    ///
    /// - Throws: `DecodingError` where it is none.
    public init(from decoder: any Decoder) throws {
        self.init(rawValue: try decoder.singleValueContainer().decode(String.self))
    }
    /// Writes the word as a string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
    /// The protocol's word.
    public var description: String { rawValue }
}

/// What stands for a user's face.
public struct AvatarType: OpenEnum {
    /// The protocol's word.
    public let rawValue: String
    /// Takes the protocol's word, whether this version knows it or not.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// One of the server's catalogue.
    public static let builtIn: Self = "built_in"
    /// A picture of the user's own.
    public static let custom: Self = "custom"
}

/// The units that a user wants to read.
public struct UnitSystem: OpenEnum {
    /// The protocol's word.
    public let rawValue: String
    /// Takes the protocol's word, whether this version knows it or not.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Metres and kilograms.
    public static let metric: Self = "metric"
    /// Feet and pounds.
    public static let imperial: Self = "imperial"
}

/// A user's biological sex, where it is told.
public struct BiologicalSex: OpenEnum {
    /// The protocol's word.
    public let rawValue: String
    /// Takes the protocol's word, whether this version knows it or not.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Male.
    public static let male: Self = "male"
    /// Female.
    public static let female: Self = "female"
    /// Neither of the two.
    public static let other: Self = "other"
}

/// How many people a conversation is for.
public struct ConversationKind: OpenEnum {
    /// The protocol's word.
    public let rawValue: String
    /// Takes the protocol's word, whether this version knows it or not.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// For two people.
    public static let direct: Self = "direct"
    /// For up to 256, with a title.
    public static let group: Self = "group"
}

/// What a member may do in a group.
public struct MemberRole: OpenEnum {
    /// The protocol's word.
    public let rawValue: String
    /// Takes the protocol's word, whether this version knows it or not.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The one who may do everything, and hand the group over.
    public static let owner: Self = "owner"
    /// May rename the group, and add and remove members.
    public static let admin: Self = "admin"
    /// May read and write.
    public static let member: Self = "member"
}

/// What a message is.
public struct MessageKind: OpenEnum {
    /// The protocol's word.
    public let rawValue: String
    /// Takes the protocol's word, whether this version knows it or not.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// What was typed.
    public static let text: Self = "text"
    /// A picture, with or without words.
    public static let image: Self = "image"
    /// What the server says.
    public static let system: Self = "system"
}
