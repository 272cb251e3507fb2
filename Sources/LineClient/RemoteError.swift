public import Messaging

/// An error that the server answered a request with (`docs/protocol.md`, section 2).
public struct RemoteError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The stable name to switch on, `error.data.code`.
    public let code: String
    /// The class of the error, `error.code`.
    public let number: Int
    /// A sentence for a person.
    public let message: String
    /// Whether the same request may succeed later, unchanged.
    public let isRetryable: Bool
    /// The param that the error is about, where it is about one.
    public let field: String?
    /// All members of `error.data`.
    public let data: JSONObject

    /// The code as one of those that this version knows; nil for another.
    public var knownCode: ErrorCode? { ErrorCode(rawValue: code) }

    /// Reads an answer's `error` member.
    public init(_ error: JSON) {
        let members = error.objectValue ?? [:]
        data = members["data"]?.objectValue ?? [:]
        code = data["code"]?.stringValue ?? "unknown"
        number = members["code"]?.integerValue ?? 0
        message = members["message"]?.stringValue ?? "The server sent an error without a message."
        isRetryable = data["retryable"]?.booleanValue ?? false
        field = data["field"]?.stringValue
    }

    /// `code: message`.
    public var description: String { "\(code): \(message)" }
}
