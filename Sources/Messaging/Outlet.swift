public import NIOCore

/// What a session may ask of its connection.
///
/// Every call returns at once and may come from any thread; calls of one caller take effect in their order.
public protocol Outlet: AnyObject, Sendable {
    /// Pushes are wanted from here on.
    ///
    /// - Parameter cursor: how far the client is: what `sync.lagged` says while no push has reached the socket.
    func startPushes(cursor: String)

    /// Queued pushes are dropped, and later ones ignored, until the next `startPushes`.
    func stopPushes()

    /// Queues a push. Past the bound, queued pushes are dropped and `sync.lagged` follows when the client reads again.
    func push(_ push: Push)

    /// There is nothing to push, but the client is this far: what `server.ping` says.
    func noteCursor(_ cursor: String)

    /// Replaces the authentication deadline, or an earlier expiry; nil: there is none.
    func setExpiry(_ expiry: Expiry?)

    /// Says why, and closes the connection.
    func goodbye(_ goodbye: Goodbye)
}

/// One line that no request asked for, shared by all its receivers.
public struct Push: Sendable {
    /// The whole line, with its line end.
    public let line: ByteBuffer

    /// How far a client is that has read it.
    public let cursor: String

    public init(line: ByteBuffer, cursor: String) {
        self.line = line
        self.cursor = cursor
    }
}

/// When a connection ends unless the expiry is replaced before.
public struct Expiry: Sendable {
    /// Counted from now, in seconds.
    public let seconds: Double
    public let goodbye: Goodbye

    public init(seconds: Double, goodbye: Goodbye) {
        self.seconds = seconds
        self.goodbye = goodbye
    }
}

/// Why the server closes a connection on purpose: the params of `server.goodbye`.
public struct Goodbye: Sendable, Equatable {
    public let code: GoodbyeCode

    /// A sentence for a person.
    public let message: String

    public init(_ code: GoodbyeCode, _ message: String) {
        self.code = code
        self.message = message
    }
}

/// The stable name of a goodbye (`docs/protocol.md`, section 1).
public enum GoodbyeCode: String, CaseIterable, Sendable {
    case shuttingDown = "shutting_down"
    case slowConsumer = "slow_consumer"
    case tokenExpired = "token_expired"
    case sessionRevoked = "session_revoked"
    case authenticationTimeout = "authentication_timeout"
    case lineTooLong = "line_too_long"
    case tooManyConnections = "too_many_connections"

    /// Whether a client should connect again.
    public var reconnect: Bool {
        switch self {
        case .shuttingDown, .slowConsumer, .tokenExpired, .authenticationTimeout, .tooManyConnections: true
        case .sessionRevoked, .lineTooLong: false
        }
    }
}
