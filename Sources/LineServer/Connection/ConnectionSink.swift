import ChangeFeed
import NIOCore
import WireProtocol

/// A session's reference to its connection. Orders go through the loop's inbox, and are ignored once the connection is
/// closed.
final class ConnectionSink: ClientSink {
    let loop: LineLoop
    private let bound: NIOLoopBoundBox<ConnectionHandler?>

    /// Creates the reference. Must be called on `loop`.
    init(_ connection: ConnectionHandler, loop: LineLoop) {
        self.loop = loop
        bound = NIOLoopBoundBox(connection, eventLoop: loop.eventLoop)
    }

    /// The connection, until it is closed. Must be read on the loop.
    var connection: ConnectionHandler? { bound.value }

    /// Releases the connection. Must be called on the loop.
    func detach() { bound.value = nil }

    var executor: UnownedSerialExecutor {
        // The sink holds the loop, which holds the executor.
        unsafe loop.executor.asUnownedSerialExecutor()
    }

    let acceptsPushes = true

    var pushTarget: any PushTarget { loop }

    func startPushes(cursor: String) { loop.post(.startPushes(cursor: cursor), to: self) }
    func stopPushes() { loop.post(.stopPushes, to: self) }
    func fallBehind() { loop.post(.fallBehind, to: self) }
    func noteCursor(_ cursor: String) { loop.post(.noteCursor(cursor), to: self) }
    func setExpiry(_ expiry: Expiry?) { loop.post(.setExpiry(expiry), to: self) }
    func goodbye(_ goodbye: Goodbye) { loop.post(.goodbye(goodbye), to: self) }
}
