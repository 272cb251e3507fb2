import Messaging
import NIOCore

/// What a session holds of its connection: orders go by the loop's mailbox, and to a closed connection nowhere.
final class ConnectionOutlet: Outlet {
    let loop: LineLoop
    private let bound: NIOLoopBoundBox<ConnectionHandler?>

    /// - Parameter loop: the loop on which this is called.
    init(_ connection: ConnectionHandler, loop: LineLoop) {
        self.loop = loop
        self.bound = NIOLoopBoundBox(connection, eventLoop: loop.eventLoop)
    }

    /// The connection, until it is closed. Only for the loop.
    var connection: ConnectionHandler? { self.bound.value }

    /// Lets go of the connection. Only for the loop.
    func detach() { self.bound.value = nil }

    var executor: UnownedSerialExecutor {
        // Kept by the loop, which this outlet holds.
        unsafe self.loop.eventLoop.executor.asUnownedSerialExecutor()
    }

    var home: any OutletHome { self.loop }

    func startPushes(cursor: String) { self.loop.post(.startPushes(cursor: cursor), to: self) }
    func stopPushes() { self.loop.post(.stopPushes, to: self) }
    func fallBehind() { self.loop.post(.fallBehind, to: self) }
    func noteCursor(_ cursor: String) { self.loop.post(.noteCursor(cursor), to: self) }
    func setExpiry(_ expiry: Expiry?) { self.loop.post(.setExpiry(expiry), to: self) }
    func goodbye(_ goodbye: Goodbye) { self.loop.post(.goodbye(goodbye), to: self) }
}
