import NIOCore
import NIOPosix
import Synchronization
import Testing

/// Stands between two who talk, and loses an answer when it is told to: the request that holds a given text goes
/// through, what comes back is dropped, and when the whole answer has come, both are cut off.
///
/// So what was asked is done, and who asked cannot know.
struct LossyRelay: Sendable {
    /// The relay's address.
    let address: SocketAddress
    private let orders: Orders

    fileprivate final class Orders: Sendable {
        /// The text of the request whose answer is to be lost; nil once it has passed.
        let text = Mutex<String?>(nil)
        let lost = Mutex(0)

        /// Small requests come whole over loopback.
        func isMet(by bytes: ByteBuffer) -> Bool {
            text.withLock { text in
                guard let wanted = text, String(buffer: bytes).contains(wanted) else { return false }
                text = nil
                return true
            }
        }
    }

    /// From now on it waits for that text.
    func loseAnswer(to text: String) { orders.text.withLock { $0 = text } }

    /// The number of dropped responses.
    var lost: Int { orders.lost.withLock { $0 } }

    /// Relays for as long as `body` runs.
    ///
    /// - Parameter isWhole: whether these bytes are an answer to its end.
    static func with<Value: Sendable>(
        listening address: SocketAddress, to target: SocketAddress,
        isWhole: @escaping @Sendable (ByteBuffer) -> Bool, _ body: @Sendable (LossyRelay) async throws -> Value
    ) async throws -> Value {
        let orders = Orders()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            // Nothing is read before there is somebody to pass it on to.
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { client in
                ClientBootstrap(group: client.eventLoop).connect(to: target).flatMapThrowing { server in
                    let pair = Pair(orders, isWhole)
                    try server.pipeline.syncOperations.addHandler(Answers(pair, to: client))
                    try client.pipeline.syncOperations.addHandler(Requests(pair, to: server))
                }.flatMap { client.setOption(.autoRead, value: true) }
            }
            .bind(to: address).get()
        let relay = LossyRelay(address: try #require(listener.localAddress), orders: orders)
        do {
            let value = try await body(relay)
            try await listener.close()
            return value
        } catch {
            try? await listener.close()
            throw error
        }
    }

    /// Two who talk, both on one event loop.
    private final class Pair {
        let orders: Orders
        let isWhole: (ByteBuffer) -> Bool
        /// The part of the response that is being dropped, or nil.
        var dropped: ByteBuffer?

        init(_ orders: Orders, _ isWhole: @escaping (ByteBuffer) -> Bool) {
            self.orders = orders
            self.isWhole = isWhole
        }
    }

    /// Passes on what the client says. Either side may go at any moment, which is what it is for.
    private final class Requests: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let pair: Pair
        private let server: any Channel

        init(_ pair: Pair, to server: any Channel) {
            self.pair = pair
            self.server = server
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = Self.unwrapInboundIn(data)
            if pair.orders.isMet(by: bytes) { pair.dropped = ByteBuffer() }
            server.writeAndFlush(bytes, promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { server.close(promise: nil) }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    /// Passes on what the server answers, but for the answer that is to be lost.
    private final class Answers: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let pair: Pair
        private let client: any Channel

        init(_ pair: Pair, to client: any Channel) {
            self.pair = pair
            self.client = client
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = Self.unwrapInboundIn(data)
            guard pair.dropped != nil else { return client.writeAndFlush(bytes, promise: nil) }
            pair.dropped?.writeImmutableBuffer(bytes)
            if let dropped = pair.dropped, pair.isWhole(dropped) {
                pair.orders.lost.withLock { $0 += 1 }
                context.close(promise: nil)
            }
        }

        func channelInactive(context: ChannelHandlerContext) { client.close(promise: nil) }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
