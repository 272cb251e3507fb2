package import WireProtocol

/// The reason why the server closed the connection: `server.goodbye`.
package struct ServerGoodbye: Sendable, Equatable {
    /// The stable name, such as `shutting_down`.
    package let code: String
    /// The reason in a sentence.
    package let message: String
    /// True if the client should reconnect.
    package let reconnect: Bool

    /// The code as an enumeration case, or nil if this version does not know it.
    package var knownCode: GoodbyeCode? { GoodbyeCode(rawValue: code) }

    init(_ params: JSONObject) {
        code = params["code"]?.stringValue ?? "unknown"
        message = params["message"]?.stringValue ?? ""
        reconnect = params["reconnect"]?.booleanValue ?? true
    }
}
