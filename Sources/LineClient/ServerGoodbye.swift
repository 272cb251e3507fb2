public import Messaging

/// Why the server closed the connection, in its own words: `server.goodbye`.
public struct ServerGoodbye: Sendable, Equatable {
    /// The stable name, such as `shutting_down`.
    public let code: String
    /// A sentence for a person.
    public let message: String
    /// Whether to connect again.
    public let reconnect: Bool

    /// The code as one of those that this version knows; nil for another.
    public var knownCode: GoodbyeCode? { GoodbyeCode(rawValue: code) }

    init(_ params: JSONObject) {
        code = params["code"]?.stringValue ?? "unknown"
        message = params["message"]?.stringValue ?? ""
        reconnect = params["reconnect"]?.booleanValue ?? true
    }
}
