package import WireProtocol

/// An error response of the server (`docs/protocol.md`, section 2).
package struct RemoteError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The stable name to switch on, `error.data.code`.
    package let code: String
    /// The class of the error, `error.code`.
    package let number: Int
    /// The error in a sentence.
    package let message: String
    /// True if the same request may succeed later.
    package let isRetryable: Bool
    /// The param that the error is about, if there is one.
    package let field: String?
    /// All members of `error.data`.
    package let data: JSONObject

    /// The code as an enumeration case, or nil if this version does not know it.
    package var knownCode: ErrorCode? { ErrorCode(rawValue: code) }

    /// Reads the `error` member of a response.
    package init(_ error: JSON) {
        let members = error.objectValue ?? [:]
        data = members["data"]?.objectValue ?? [:]
        code = data["code"]?.stringValue ?? "unknown"
        number = members["code"]?.integerValue ?? 0
        message = members["message"]?.stringValue ?? "The server sent an error without a message."
        isRetryable = data["retryable"]?.booleanValue ?? false
        field = data["field"]?.stringValue
    }

    /// The error as `code: message`.
    package var description: String { "\(code): \(message)" }
}
