import NIOCore

/// A transport that opens connections, such as POSIX sockets.
protocol Connector: Sendable {
    /// Opens a connection that delivers its lines to the inbox. It fails with a ``PostlineError``: `offline` or
    /// `not_trusted`.
    func connect(to server: Server, inbox: Inbox, timeout: Duration) -> EventLoopFuture<any Channel>
}

extension Duration {
    /// The duration as a NIO value.
    var timeAmount: TimeAmount {
        let (seconds, attoseconds) = components
        return .nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
