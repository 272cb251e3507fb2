import Messaging
import NIOCore

/// What a session holds of its connection: orders go by the loop's inbox, and to a closed connection nowhere.
final class ConnectionSink: ClientSink {
    let loop: LineLoop
    private let bound: NIOLoopBoundBox<ConnectionHandler?>

    /// - Parameter loop: the loop on which this is called.
    init(_ connection: ConnectionHandler, loop: LineLoop) {
        self.loop = loop
        bound = NIOLoopBoundBox(connection, eventLoop: loop.eventLoop)
    }

    /// The connection, until it is closed. Only for the loop.
    var connection: ConnectionHandler? { bound.value }

    /// Lets go of the connection. Only for the loop.
    func detach() { bound.value = nil }

    var executor: UnownedSerialExecutor {
        // Kept by the loop, which this sink holds.
        unsafe loop.executor.asUnownedSerialExecutor()
    }

    let takesPushes = true

    var target: any PushTarget { loop }

    func startPushes(cursor: String) { loop.post(.startPushes(cursor: cursor), to: self) }
    func stopPushes() { loop.post(.stopPushes, to: self) }
    func fallBehind() { loop.post(.fallBehind, to: self) }
    func noteCursor(_ cursor: String) { loop.post(.noteCursor(cursor), to: self) }
    func setExpiry(_ expiry: Expiry?) { loop.post(.setExpiry(expiry), to: self) }
    func goodbye(_ goodbye: Goodbye) { loop.post(.goodbye(goodbye), to: self) }
}
