public import Messaging

/// An error response of the server (`docs/protocol.md`, section 2).
public struct RemoteError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The stable name to switch on, `error.data.code`.
    public let code: String
    /// The class of the error, `error.code`.
    public let number: Int
    /// The error in a sentence.
    public let message: String
    /// True if the same request may succeed later.
    public let isRetryable: Bool
    /// The param that the error is about, if there is one.
    public let field: String?
    /// All members of `error.data`.
    public let data: JSONObject

    /// The code as an enumeration case, or nil if this version does not know it.
    public var knownCode: ErrorCode? { ErrorCode(rawValue: code) }

    /// Reads the `error` member of a response.
    public init(_ error: JSON) {
        let members = error.objectValue ?? [:]
        data = members["data"]?.objectValue ?? [:]
        code = data["code"]?.stringValue ?? "unknown"
        number = members["code"]?.integerValue ?? 0
        message = members["message"]?.stringValue ?? "The server sent an error without a message."
        isRetryable = data["retryable"]?.booleanValue ?? false
        field = data["field"]?.stringValue
    }

    /// The error as `code: message`.
    public var description: String { "\(code): \(message)" }
}
