package import Foundations

/// An error as sent to a client.
package struct ProtocolError: Error, Sendable, Equatable, CustomStringConvertible {
    /// The stable name to switch on.
    package let code: ErrorCode

    /// A sentence for people, with the remedy if there is one.
    package let message: String

    /// The text for the log: the reason, or else the message.
    package var description: String { reason ?? message }

    /// The members of `error.data` beside `code` and `retryable`, such as `field`.
    package let data: [JSONObject.Member]

    /// The reason of an `internal_error` for the log. It is never sent.
    package let reason: String?

    package init(_ code: ErrorCode, _ message: String, data: [JSONObject.Member] = []) {
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

    /// Returns `invalid_params` with the param's name: `"limit" must be 1 to 50.`
    package static func invalid(_ field: String, _ problem: String) -> ProtocolError {
        ProtocolError(.invalidParams, "\"\(field)\" \(problem).", data: [.init(name: "field", value: .string(field))])
    }

    /// - Parameter retryAfter: the wait, which is sent in whole seconds, at least one.
    package static func rateLimited(_ message: String, retryAfter: Duration) -> ProtocolError {
        let seconds = max(1, Int(clamping: (retryAfter + .nanoseconds(999_999_999)).count(of: .seconds(1))))
        return ProtocolError(
            .rateLimited, "\(message) Try again in \(seconds) s.",
            data: [.init(name: "retry_after", value: .integer(seconds))])
    }

    /// Returns the error with the incident number of its log line.
    package func withIncident(_ incident: ID) -> ProtocolError {
        ProtocolError(
            code, message, data: data + [.init(name: "incident", value: .string(incident.description))], reason: reason)
    }

    package static let unauthenticated = ProtocolError(
        .unauthenticated, "Sign in first: auth.login, or session.authenticate with a token.")
    package static let unavailable = ProtocolError(.unavailable, "The database cannot be reached now. Try again.")
    package static let timeout = ProtocolError(.timeout, "The database took too long. Try again.")
    package static let sessionRevoked = ProtocolError(.sessionRevoked, "This session has ended. Sign in again.")
}
