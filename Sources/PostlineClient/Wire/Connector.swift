import NIOCore

/// What opens connections: POSIX sockets, or the network framework of Apple's systems.
protocol Connector: Sendable {
    /// Opens a connection whose lines go to the inbox. It fails with a ``PostlineError``: `offline` or `not_trusted`.
    func connect(to server: Server, inbox: Inbox, timeout: Duration) -> EventLoopFuture<any Channel>
}

extension Duration {
    /// The same for NIO.
    var timeAmount: TimeAmount {
        let (seconds, attoseconds) = components
        return .nanoseconds(seconds * 1_000_000_000 + attoseconds / 1_000_000_000)
    }
}
