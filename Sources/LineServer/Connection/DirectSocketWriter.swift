import Foundations
import NIOCore
import NIOPosix

/// A writer that bypasses the handlers and write queue of a channel whose lines are sent unchanged. That path adds half
/// of the kernel's own cost to a push of some hundred bytes.
///
/// Must be used on the channel's event loop.
struct DirectSocketWriter {
    private let channel: any Channel
    private let descriptor: NIOBSDSocket.Handle

    /// - Returns: nil for a channel without a socket.
    init?(of channel: any Channel) {
        // Throws if the socket is already closed.
        guard
            let found = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                of: NIOBSDSocket.Handle.self, { $0 })
        else { return nil }
        self.channel = channel
        descriptor = found
    }

    /// Sends bytes at once. The kernel must have accepted all earlier writes of the channel.
    ///
    /// - Returns: the bytes that the kernel did not accept. Writing them to the channel reveals the reason, such as a
    ///   lost connection.
    func write(_ bytes: ByteBuffer) -> ByteBuffer {
        // The channel closes its descriptor on this loop and is inactive from then on, before it notifies any handler.
        guard channel.isActive else { return bytes }
        var bytes = bytes
        let sent = unsafe bytes.withUnsafeReadableBytes { unsafe send(descriptor, $0.baseAddress, $0.count, sendFlags) }
        if sent > 0 { bytes.moveReaderIndex(forwardBy: sent) }
        return bytes
    }
}

#if canImport(Darwin)
// NIO sets `SO_NOSIGPIPE` on each socket.
private let sendFlags = CInt(MSG_DONTWAIT)
#else
private let sendFlags = CInt(MSG_DONTWAIT | MSG_NOSIGNAL)
#endif
