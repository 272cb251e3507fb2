package import NIOCore
package import WireProtocol

/// The connection of a session.
///
/// Every call returns at once and may come from any thread. Calls of one caller take effect in order.
package protocol ClientSink: AnyObject, Sendable {
    /// The connection's event loop. A session that runs there needs no executor hop.
    var executor: UnownedSerialExecutor { get }

    /// True if the connection stays open for pushes.
    var acceptsPushes: Bool { get }

    /// The push target of all connections on the same event loop.
    var pushTarget: any PushTarget { get }

    /// Starts the delivery of pushes.
    ///
    /// - Parameter cursor: the client's cursor, which `sync.lagged` contains until a push has reached the socket.
    func startPushes(cursor: String)

    /// Drops queued pushes and ignores later ones until the next `startPushes`.
    func stopPushes()

    /// Drops queued pushes, sends `sync.lagged`, and ignores pushes until the next `startPushes`.
    func fallBehind()

    /// Records a cursor that the client reached without a push, for `server.ping`.
    func noteCursor(_ cursor: String)

    /// Replaces the authentication deadline or an earlier expiry; nil removes it.
    func setExpiry(_ expiry: Expiry?)

    /// Sends the reason and closes the connection.
    func goodbye(_ goodbye: Goodbye)
}

/// A receiver of pushes for many connections: an event loop, for its own.
package protocol PushTarget: AnyObject, Sendable {
    /// Queues pushes for sinks with this target, in order. Beyond a sink's bound its queued pushes are dropped, and the
    /// client gets `sync.lagged` once it reads again.
    ///
    /// - Parameter written: called on any thread when the target has written as much to the sockets as they have room
    ///   for.
    func push(_ pushes: [Multicast], written: @escaping @Sendable () -> Void)
}

/// A push and its receivers.
package struct Multicast: Sendable {
    package let push: Push
    package var receivers: [any ClientSink]

    package init(_ push: Push, receivers: [any ClientSink]) {
        self.push = push
        self.receivers = receivers
    }
}

/// A line that the server sends without a request, shared by all its receivers.
package struct Push: Sendable {
    /// The line, including the line feed.
    package let line: ByteBuffer

    /// The cursor after this push, or nil for ephemeral pushes that do not advance it.
    package let cursor: String?

    package init(line: ByteBuffer, cursor: String?) {
        self.line = line
        self.cursor = cursor
    }
}

/// The time at which a connection is closed unless the expiry is replaced.
package struct Expiry: Sendable {
    /// The time from now, in seconds.
    package let seconds: Double
    package let goodbye: Goodbye

    package init(seconds: Double, goodbye: Goodbye) {
        self.seconds = seconds
        self.goodbye = goodbye
    }
}
