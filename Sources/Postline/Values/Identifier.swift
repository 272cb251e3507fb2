/// The id of an object. Its type says what kind of object it identifies, so that ids of two kinds cannot be confused.
///
/// `User.ID`, `Conversation.ID` and `Message.ID` are identifiers.
public struct Identifier<Object>: RawRepresentable, Sendable, Hashable {
    /// The id as the protocol has it.
    public let rawValue: String

    /// Creates an id from the protocol's text.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates an id from the protocol's text.
    public init(_ rawValue: String) { self.rawValue = rawValue }
}

extension Identifier: CustomStringConvertible {
    /// The id as the protocol has it.
    public var description: String { rawValue }
}

extension Identifier: ExpressibleByStringLiteral {
    /// Creates an id from the protocol's text.
    public init(stringLiteral value: String) { self.init(value) }
}

extension Identifier: Comparable {
    /// Compares the texts of two ids.
    public static func < (left: Identifier, right: Identifier) -> Bool { left.rawValue < right.rawValue }
}

extension Identifier: Codable {
    /// Decodes the id from a string.
    ///
    /// - Throws: `DecodingError` for another type.
    public init(from decoder: any Decoder) throws {
        self.init(try decoder.singleValueContainer().decode(String.self))
    }

    /// Encodes the id as a string.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rawValue)
    }
}
