import NIOCore
import NIOPosix

/// A client that sends a request, and reads only the first bytes of the response until `readToEnd()`.
struct SlowReader {
    private let channel: any Channel

    /// Succeeds when the first bytes of the response arrive.
    let begun: EventLoopFuture<Void>
    private let end: EventLoopFuture<Int>
    private let counts: AsyncStream<Int>

    /// - Parameter address: the client's address.
    init(port: Int, from address: String = "127.0.0.1") async throws {
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let (begun, end) = (loop.makePromise(of: Void.self), loop.makePromise(of: Int.self))
        self.begun = begun.futureResult
        self.end = end.futureResult
        let (counts, continuation) = AsyncStream.makeStream(of: Int.self)
        self.counts = counts
        channel = try await ClientBootstrap(group: loop)
            .channelOption(.autoRead, value: false)
            .bind(to: SocketAddress(ipAddress: address, port: 0))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(
                        Counter(begun: begun, end: end, counts: continuation))
                }
            }
            .connect(host: "127.0.0.1", port: port).get()
        try await channel.writeAndFlush(
            ByteBuffer(string: "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"))
        channel.read()
    }

    /// Reads until at least this number of bytes has arrived.
    func read(_ count: Int) async throws {
        try await channel.setOption(.autoRead, value: true).get()
        for await received in counts where received >= count { break }
        try await channel.setOption(.autoRead, value: false).get()
    }

    /// Reads the rest of the response, and returns its number of bytes.
    func readToEnd() async throws -> Int {
        try await channel.setOption(.autoRead, value: true).get()
        return try await end.get()
    }

    private final class Counter: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        private let begun: EventLoopPromise<Void>
        private let end: EventLoopPromise<Int>
        private let counts: AsyncStream<Int>.Continuation
        private var bytes = 0

        init(begun: EventLoopPromise<Void>, end: EventLoopPromise<Int>, counts: AsyncStream<Int>.Continuation) {
            (self.begun, self.end, self.counts) = (begun, end, counts)
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            bytes += Self.unwrapInboundIn(data).readableBytes
            begun.succeed()
            counts.yield(bytes)
        }

        func channelInactive(context: ChannelHandlerContext) {
            begun.succeed()
            end.succeed(bytes)
            counts.finish()
        }

        // A connection that the server closes may end with a reset.
        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
