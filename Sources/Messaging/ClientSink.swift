public import NIOCore

/// What a session may ask of its connection.
///
/// Every call returns at once and may come from any thread; calls of one caller take effect in their order.
public protocol ClientSink: AnyObject, Sendable {
    /// Where the connection lives: a session that runs there is asked and answers without a change of threads.
    var executor: UnownedSerialExecutor { get }

    /// Whether there is a way for pushes: a connection that stays.
    var takesPushes: Bool { get }

    /// What takes pushes for all connections that live there.
    var target: any PushTarget { get }

    /// Pushes are wanted from here on.
    ///
    /// - Parameter cursor: how far the client is: what `sync.lagged` says while no push has reached the socket.
    func startPushes(cursor: String)

    /// Queued pushes are dropped, and later ones ignored, until the next `startPushes`.
    func stopPushes()

    /// Queued pushes are dropped: the client is told `sync.lagged`, and gets none until the next `startPushes`.
    func fallBehind()

    /// There is nothing to push, but the client is this far: what `server.ping` says.
    func noteCursor(_ cursor: String)

    /// Replaces the authentication deadline, or an earlier expiry; nil: there is none.
    func setExpiry(_ expiry: Expiry?)

    /// Says why, and closes the connection.
    func goodbye(_ goodbye: Goodbye)
}

/// What takes pushes for many connections in one go: an event loop, for those that live there.
public protocol PushTarget: AnyObject, Sendable {
    /// Queues pushes for sinks whose target this is, in order. Past an sink's bound, its queued pushes are dropped and
    /// `sync.lagged` follows when the client reads again.
    ///
    /// - Parameter written: is called, on any thread, when the target has got to them, and has handed to the sockets what
    ///   those have room for.
    func push(_ pushes: [Multicast], written: @escaping @Sendable () -> Void)
}

/// A push and its receivers.
public struct Multicast: Sendable {
    public let push: Push
    public var receivers: [any ClientSink]

    public init(_ push: Push, receivers: [any ClientSink]) {
        self.push = push
        self.receivers = receivers
    }
}

/// One line that no request asked for, shared by all its receivers.
public struct Push: Sendable {
    /// The whole line, with its line end.
    public let line: ByteBuffer

    /// How far a client is that has read it; nil where it is lost without harm, and where the client is stays as it was.
    public let cursor: String?

    public init(line: ByteBuffer, cursor: String?) {
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
    case restored
    case slowConsumer = "slow_consumer"
    case tokenExpired = "token_expired"
    case sessionRevoked = "session_revoked"
    case authenticationTimeout = "authentication_timeout"
    case lineTooLong = "line_too_long"
    case tooManyConnections = "too_many_connections"

    /// Whether a client should connect again.
    public var reconnect: Bool {
        switch self {
        case .shuttingDown, .restored, .slowConsumer, .tokenExpired, .authenticationTimeout, .tooManyConnections: true
        case .sessionRevoked, .lineTooLong: false
        }
    }
}
