/// An error as a client gets it.
public struct ProtocolError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The stable name to switch on.
    public let code: ErrorCode

    /// A sentence for a person, which says the way out where there is one.
    public let message: String

    public var description: String { message }

    /// The members of `error.data` beside `code` and `retryable`, such as `field`.
    public let data: [JSONObject.Member]

    /// What the log says of an `internal_error`; it never reaches the wire.
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

    /// A fault of the server: the client is told that there was one, the log what it was.
    package static func fault(_ reason: String) -> ProtocolError {
        ProtocolError(.internalError, "Something went wrong on our side.", data: [], reason: reason)
    }

    /// The same error, with the number under which the log has it.
    package func filed(under incident: ID) -> ProtocolError {
        ProtocolError(
            code, message, data: data + [.init(name: "incident", value: .string(incident.description))], reason: reason)
    }

    static let unauthenticated = ProtocolError(
        .unauthenticated, "Sign in first: auth.login, or session.authenticate with a token.")
    static let sessionRevoked = ProtocolError(.sessionRevoked, "This session has ended. Sign in again.")
}
