/// The reason why the server closes a connection: the params of `server.goodbye`.
package struct Goodbye: Sendable, Equatable {
    package let code: GoodbyeCode

    /// A sentence for people.
    package let message: String

    package init(_ code: GoodbyeCode, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// The stable name of a goodbye (`docs/protocol.md`, section 1).
package enum GoodbyeCode: String, CaseIterable, Sendable {
    case shuttingDown = "shutting_down"
    case restored
    case slowConsumer = "slow_consumer"
    case tokenExpired = "token_expired"
    case sessionRevoked = "session_revoked"
    case authenticationTimeout = "authentication_timeout"
    case lineTooLong = "line_too_long"
    case tooManyConnections = "too_many_connections"

    /// True if the client should connect again.
    package var reconnect: Bool {
        switch self {
        case .shuttingDown, .restored, .slowConsumer, .tokenExpired, .authenticationTimeout, .tooManyConnections: true
        case .sessionRevoked, .lineTooLong: false
        }
    }
}
