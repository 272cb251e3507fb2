import NIOCore
import NIOPosix

#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// Holds one file descriptor in reserve on the listening channel, so that clients can be told that there are none left.
///
/// Where accepting fails for want of a descriptor, the reserve is given up for a moment: one waiting client after the
/// other is accepted with it, told goodbye and closed. Nothing spins: each round takes clients off the queue, and where
/// even that fails the error goes on to NIO's back-off, which stops accepting for a second.
final class DescriptorReserve: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private let server: ServerContext

    /// Nothing where lines are encrypted: this is too little of a connection to shake hands over.
    private let goodbye: ByteBuffer
    private var reserve: CInt?

    /// How many clients were told since the log last said so; nil where it has not within this interval.
    private var refusedSinceLog: Int?

    /// How often the log says it: clients that are refused come again at once.
    private static let logInterval = TimeAmount.seconds(1)

    init(_ server: ServerContext) {
        self.server = server
        goodbye =
            server.configuration.certificate == nil ? ServerLines.goodbye(.outOfDescriptors) : ByteBuffer()
        refill()
    }

    deinit {
        if let reserve = self.reserve { _ = close(reserve) }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        let code = (error as? IOError)?.errnoCode
        guard code == EMFILE || code == ENFILE, refuseWaiting(context) else {
            context.fireErrorCaught(error)
            return
        }
    }

    /// - Returns: whether at least one client was told.
    private func refuseWaiting(_ context: ChannelHandlerContext) -> Bool {
        if self.reserve == nil { refill() }
        guard let reserve = self.reserve else { return false }
        self.reserve = nil
        _ = close(reserve)
        defer { refill() }
        let refused = try? context.pipeline.syncOperations.withUnsafeTransportIfAvailable(
            of: NIOBSDSocket.Handle.self
        ) { listener in
            var refused = 0
            while refused < 64, refuseOne(listener) { refused += 1 }
            return refused
        }
        server.metrics.refusedForDescriptors(refused ?? 0)
        log(refused ?? 0, on: context.eventLoop)
        return (refused ?? 0) > 0
    }

    private func log(_ refused: Int, on loop: any EventLoop) {
        if let before = refusedSinceLog {
            refusedSinceLog = before + refused
            return
        }
        server.ranOutOfDescriptors(refused: refused)
        refusedSinceLog = 0
        loop.assumeIsolated().scheduleTask(in: Self.logInterval) {
            let refused = self.refusedSinceLog ?? 0
            self.refusedSinceLog = nil
            if refused > 0 { self.log(refused, on: loop) }
        }
    }

    private func refuseOne(_ listener: CInt) -> Bool {
        let client = accept(listener, nil, nil)
        guard client >= 0 else { return false }
        // The bytes do not leave the closure. A client that does not take this little at once is not waited for.
        unsafe goodbye.withUnsafeReadableBytes { bytes in
            _ = unsafe send(client, bytes.baseAddress, bytes.count, Self.withoutWaiting)
        }
        _ = shutdown(client, CInt(SHUT_WR))
        _ = close(client)
        return true
    }

    private func refill() {
        // A literal, which the call only reads.
        let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        reserve = descriptor >= 0 ? descriptor : nil
    }

    #if os(Linux)
    private static let withoutWaiting = CInt(MSG_DONTWAIT | MSG_NOSIGNAL)
    #else
    private static let withoutWaiting = CInt(MSG_DONTWAIT)
    #endif
}
