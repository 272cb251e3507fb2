import NIOCore
import NIOPosix

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// The socket of a connection whose lines go over it as they are, past the handlers and the queue of writes of its
/// channel: on that way a push of some hundred bytes costs half as much again as the kernel takes for it.
///
/// Only for its event loop.
struct DirectSocketWriter {
    private let channel: any Channel
    private let descriptor: NIOBSDSocket.Handle

    /// - Returns: nil for a channel that is no socket.
    init?(of channel: any Channel) {
        // It throws where the socket is closed already.
        guard
            let found = try? channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
                of: NIOBSDSocket.Handle.self, { $0 })
        else { return nil }
        self.channel = channel
        descriptor = found
    }

    /// Hands bytes to the kernel at once. Only where all that was written to the channel is with the kernel.
    ///
    /// - Returns: what the kernel did not take. Why it did not, as that the client is gone, is found by writing it to the
    ///   channel.
    func write(_ bytes: ByteBuffer) -> ByteBuffer {
        // The channel closes its descriptor on this loop, and is not active from then on, before anybody is told.
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
