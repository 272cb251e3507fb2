/// A JSON value (RFC 8259).
public enum JSON: Sendable, Equatable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSON])
    case object(JSONObject)
}

/// A JSON number, kept as it was written.
public struct JSONNumber: Sendable, Equatable {
    public let text: String
}

/// A JSON object, its members in the order they were written.
public struct JSONObject: Sendable, Equatable {
    public let members: [Member]

    public struct Member: Sendable, Equatable {
        public let name: String
        public let value: JSON
    }
}
