import NIOCore
import NIOPosix

/// A client that sends a request, and reads only the first bytes of the response until `readToEnd()`.
struct SlowReader {
    private let channel: any Channel
    private let reader: NIOLoopBound<Reader>

    /// Succeeds when the first bytes of the response arrive.
    let begun: EventLoopFuture<Void>

    /// - Parameter address: the client's address.
    init(port: Int, from address: String = "127.0.0.1") async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let begun = loop.makePromise(of: Void.self)
        self.begun = begun.futureResult
        reader = try await loop.submit { NIOLoopBound(Reader(begun: begun), eventLoop: loop) }.get()
        channel = try await ClientBootstrap(group: loop)
            .channelOption(.autoRead, value: false)
            .bind(to: SocketAddress(ipAddress: address, port: 0))
            .channelInitializer { [reader] channel in
                channel.eventLoop.makeCompletedFuture { try channel.pipeline.syncOperations.addHandler(reader.value) }
            }
            .connect(host: "127.0.0.1", port: port).get()
        try await channel.writeAndFlush(
            ByteBuffer(string: "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
        channel.read()
    }

    /// Reads until at least this number of bytes has arrived, and at most one read more.
    func read(_ count: Int) async throws { _ = try await arrival(of: count).get() }

    /// Reads the rest of the response, and returns its number of bytes.
    func readToEnd() async throws -> Int { try await arrival(of: .max).get() }

    private func arrival(of count: Int) -> EventLoopFuture<Int> {
        channel.eventLoop.flatSubmit { [reader, channel] in
            let arrived = channel.eventLoop.makePromise(of: Int.self)
            reader.value.read(count, from: channel, then: arrived)
            return arrived.futureResult
        }
    }

    private final class Reader: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let begun: EventLoopPromise<Void>
        private var bytes = 0
        private var isClosed = false
        private var wanted = 0
        private var arrived: EventLoopPromise<Int>?

        init(begun: EventLoopPromise<Void>) { self.begun = begun }

        func read(_ count: Int, from channel: any Channel, then arrived: EventLoopPromise<Int>) {
            guard !isClosed, bytes < count else { return arrived.succeed(bytes) }
            wanted = count
            self.arrived = arrived
            channel.read()
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            bytes += Self.unwrapInboundIn(data).readableBytes
            begun.succeed()
        }

        func channelReadComplete(context: ChannelHandlerContext) {
            guard arrived != nil else { return }
            if bytes < wanted { context.read() } else { succeed() }
        }

        func channelInactive(context: ChannelHandlerContext) {
            isClosed = true
            begun.succeed()
            succeed()
        }

        private func succeed() {
            arrived?.succeed(bytes)
            arrived = nil
        }

        // A connection that the server closes may end with a reset.
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
