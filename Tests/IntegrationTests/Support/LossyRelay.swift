import LineClient
import NIOCore
import NIOPosix
import Synchronization
import Testing

/// A TCP relay that loses one response: it forwards the request with a given text, drops the response, and closes both
/// sides after it. The request has been executed, and the client cannot know.
struct LossyRelay: Sendable {
    /// The address to connect to.
    let address: SocketAddress
    private let orders: Orders

    fileprivate final class Orders: Sendable {
        /// The text of the request whose response is to be lost, or nil after it has passed.
        let text = Mutex<String?>(nil)
        let lost = Mutex(0)

        /// Small requests arrive whole over loopback.
        func matches(_ bytes: ByteBuffer) -> Bool {
            text.withLock { text in
                guard let wanted = text, String(buffer: bytes).contains(wanted) else { return false }
                text = nil
                return true
            }
        }
    }

    /// Loses the response to the next request with that text.
    func loseAnswer(to text: String) { orders.text.withLock { $0 = text } }

    /// The number of whole responses that were lost.
    var lost: Int { orders.lost.withLock { $0 } }

    /// Runs a relay while `body` runs.
    ///
    /// - Parameter isWhole: Returns true if the bytes are a complete response.
    static func with<Value: Sendable>(
        listening address: SocketAddress, to target: SocketAddress,
        isWhole: @escaping @Sendable (ByteBuffer) -> Bool, _ body: @Sendable (LossyRelay) async throws -> Value
    ) async throws -> Value {
        let orders = Orders()
        let listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            // Reading starts once both sides are connected.
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

    /// The two connections, on one event loop.
    private final class Pair {
        let orders: Orders
        let isWhole: (ByteBuffer) -> Bool
        /// The received part of the response to lose, or nil if none.
        var dropped: ByteBuffer?

        init(_ orders: Orders, _ isWhole: @escaping (ByteBuffer) -> Bool) {
            self.orders = orders
            self.isWhole = isWhole
        }
    }

    /// Forwards requests. Either side may close at any time.
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
            if pair.orders.matches(bytes) { pair.dropped = ByteBuffer() }
            server.writeAndFlush(bytes, promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { server.close(promise: nil) }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }

    /// Forwards responses, except the one to lose.
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
