import Foundations
import NIOCore
import NIOPosix

/// A file descriptor in reserve on the listening channel, for refusing clients when no descriptors are left.
///
/// When accepting fails for lack of descriptors, the reserve is closed for a moment. Waiting clients are accepted with
/// it one by one, sent a goodbye and closed. It does not spin: each round takes clients off the accept queue, and if
/// that fails too, the error reaches NIO's back-off, which stops accepting for a second.
final class DescriptorReserve: ChannelInboundHandler {
    typealias InboundIn = any Channel

    private let server: ServerContext

    /// The goodbye line. Empty under TLS, since these connections perform no handshake.
    private let goodbye: ByteBuffer
    private var reserve: CInt?

    /// The clients refused since the last log entry, or nil if there was none in this interval.
    private var refusedSinceLog: Int?

    /// The minimum time between log entries: refused clients reconnect at once.
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

    /// Refuses up to 64 waiting clients.
    ///
    /// - Returns: true if at least one was refused.
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
        // The bytes do not leave the closure. A client whose socket buffer is full is not waited for.
        unsafe goodbye.withUnsafeReadableBytes { bytes in
            _ = unsafe send(client, bytes.baseAddress, bytes.count, Self.withoutWaiting)
        }
        _ = shutdown(client, CInt(SHUT_WR))
        _ = close(client)
        return true
    }

    private func refill() {
        // The call only reads this literal.
        let descriptor = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
        reserve = descriptor >= 0 ? descriptor : nil
    }

    #if os(Linux)
    private static let withoutWaiting = CInt(MSG_DONTWAIT | MSG_NOSIGNAL)
    #else
    private static let withoutWaiting = CInt(MSG_DONTWAIT)
    #endif
}
