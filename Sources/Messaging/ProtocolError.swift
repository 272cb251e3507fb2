/// An error as sent to a client.
public struct ProtocolError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The stable name to switch on.
    public let code: ErrorCode

    /// A sentence for people, with the remedy if there is one.
    public let message: String

    public var description: String { message }

    /// The members of `error.data` beside `code` and `retryable`, such as `field`.
    public let data: [JSONObject.Member]

    /// The reason of an `internal_error` for the log. It is never sent.
    let reason: String?

    public init(_ code: ErrorCode, _ message: String, data: [JSONObject.Member] = []) {
        self.init(code, message, data: data, reason: nil)
    }

    private init(_ code: ErrorCode, _ message: String, data: [JSONObject.Member], reason: String?) {
        self.code = code
        self.message = message
        self.data = data
        self.reason = reason
    }

    /// Returns an `internal_error`. The reason goes to the log only.
    package static func fault(_ reason: String) -> ProtocolError {
        ProtocolError(.internalError, "Something went wrong on our side.", data: [], reason: reason)
    }

    /// Returns the error with the incident number of its log line.
    package func withIncident(_ incident: ID) -> ProtocolError {
        ProtocolError(
            code, message, data: data + [.init(name: "incident", value: .string(incident.description))], reason: reason)
    }

    static let unauthenticated = ProtocolError(
        .unauthenticated, "Sign in first: auth.login, or session.authenticate with a token.")
    static let sessionRevoked = ProtocolError(.sessionRevoked, "This session has ended. Sign in again.")
}
