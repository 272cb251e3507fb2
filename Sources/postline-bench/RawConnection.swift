import Foundations
import LineClient
import NIOCore
import NIOPosix
import Postgres

/// A connection that NIO opens and whose socket C code then reads and writes.
enum RawConnection {
    /// The input to wait for before the socket is handed over.
    enum Opening: Sendable {
        /// A number of lines.
        case lines(Int)

        /// The first complete server-sent event.
        case event
    }

    /// Connects, sends a request, and after its response passes the socket to `take` as a descriptor that `take` must
    /// close unless it throws.
    ///
    /// - Parameter framing: the framing of the request and its response.
    static func open<Taken: Sendable>(
        port: Int, group: MultiThreadedEventLoopGroup, saying text: String, until opening: Opening,
        framing: @escaping @Sendable () -> [any ChannelHandler] = { [] },
        _ take: @escaping @Sendable (CInt) throws -> Taken
    ) async throws -> Taken {
        let loop = group.any()
        let ready = loop.makePromise(of: Void.self)
        let channel: any Channel
        do {
            channel = try await ClientBootstrap(group: loop)
                .connectTimeout(.seconds(60))
                .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                .connect(host: "127.0.0.1", port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        for handler in framing() { try channel.pipeline.syncOperations.addHandler(handler) }
                        try channel.pipeline.syncOperations.addHandler(Opener(opening, ready: ready))
                        return channel
                    }
                }
        } catch {
            ready.fail(error)
            throw BenchError("A connection was not made: \(error)")
        }
        channel.writeAndFlush(ByteBuffer(string: text), promise: nil)
        try await ready.futureResult.get()
        // From here on the socket no longer belongs to NIO.
        let taken = try await loop.submit {
            let socket = try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(of: CInt.self) { $0 }
            guard let socket else { throw BenchError("A connection has no socket.") }
            let own = dup(socket)
            guard own >= 0 else { throw BenchError("A socket cannot be taken over (error \(errno)).") }
            do { return try take(own) } catch {
                close(own)
                throw error
            }
        }.get()
        try await channel.close().get()
        return taken
    }

    /// Waits for the response.
    private final class Opener: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private var awaited: Opening
        private var opening = ByteBuffer()
        private var ready: EventLoopPromise<Void>?

        init(_ awaited: Opening, ready: EventLoopPromise<Void>) {
            self.awaited = awaited
            self.ready = ready
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard let ready else { return }
            let piece = unwrapInboundIn(data)
            opening.writeImmutableBuffer(piece)
            let isOpen: Bool
            switch awaited {
            case .lines(let count):
                let rest = count - piece.readableBytesView.count { $0 == UInt8(ascii: "\n") }
                awaited = .lines(rest)
                isOpen = rest <= 0
            case .event:
                let text = String(buffer: opening)
                isOpen = text.contains(#""error":"#) || text.hasSuffix("\n\n") && text.contains("\ndata: ")
            }
            guard isOpen else { return }
            let text = String(buffer: opening)
            // A refused connection receives nothing.
            if text.contains(#""error":"#) { ready.fail(BenchError(text)) } else { ready.succeed() }
            self.ready = nil
            // Later input is left to the next reader of the socket.
            context.channel.setOption(.autoRead, value: false).whenFailure { _ in }
        }

        func channelInactive(context: ChannelHandlerContext) {
            ready?.fail(ChannelError.eof)
            ready = nil
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
