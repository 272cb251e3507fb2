/// A word of the protocol whose list may grow: one that this version does not know is kept as it is.
public protocol OpenName: RawRepresentable, Codable, Sendable, Hashable, ExpressibleByStringLiteral,
    CustomStringConvertible
where RawValue == String, StringLiteralType == String {
    init(rawValue: String)
}

extension OpenName {
    public init(stringLiteral value: String) { self.init(rawValue: value) }
    public init(from decoder: any Decoder) throws {
        self.init(rawValue: try decoder.singleValueContainer().decode(String.self))
    }
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
    public var description: String { rawValue }
}

/// What stands for a user's face.
public struct AvatarType: OpenName {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    /// One of the server's catalogue.
    public static let builtIn: Self = "built_in"
    /// A picture of the user's own.
    public static let custom: Self = "custom"
}

/// The units that a user wants to read.
public struct UnitSystem: OpenName {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let metric: Self = "metric"
    public static let imperial: Self = "imperial"
}

/// A user's biological sex, where it is told.
public struct BiologicalSex: OpenName {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let male: Self = "male"
    public static let female: Self = "female"
    public static let other: Self = "other"
}

/// How many people a conversation is for.
public struct ConversationKind: OpenName {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let direct: Self = "direct"
    public static let group: Self = "group"
}

/// What a member may do in a group.
public struct MemberRole: OpenName {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let owner: Self = "owner"
    public static let admin: Self = "admin"
    public static let member: Self = "member"
}

/// What a message is.
public struct MessageKind: OpenName {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public static let text: Self = "text"
    public static let image: Self = "image"
    public static let system: Self = "system"
}
