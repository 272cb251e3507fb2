import NIOCore
import NIOPosix
import Synchronization
import Testing

/// Stands between two who talk, and loses an answer when it is told to: the request that holds a given text goes
/// through, what comes back is dropped, and when the whole answer has come, both are cut off.
///
/// So what was asked is done, and who asked cannot know.
struct LossyRelay: Sendable {
    typealias Link = NIOAsyncChannel<ByteBuffer, ByteBuffer>

    /// Where it is to be found.
    let address: SocketAddress
    private let orders: Orders

    private final class Orders: Sendable {
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

    private final class Flag: Sendable {
        private let state = Mutex(false)
        var isRaised: Bool { state.withLock { $0 } }
        func raise() { state.withLock { $0 = true } }
    }

    /// From now on it waits for that text.
    func loseAnswer(to text: String) { orders.text.withLock { $0 = text } }

    /// How many whole answers it has lost.
    var lost: Int { orders.lost.withLock { $0 } }

    /// Relays for as long as `body` runs.
    ///
    /// - Parameter isWhole: whether these bytes are an answer to its end.
    static func with<Value: Sendable>(
        listening address: SocketAddress, to target: SocketAddress,
        isWhole: @escaping @Sendable (ByteBuffer) -> Bool, _ body: @Sendable (LossyRelay) async throws -> Value
    ) async throws -> Value {
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(to: address) { channel in
                channel.eventLoop.makeCompletedFuture { try Link(wrappingChannelSynchronously: channel) }
            }
        let orders = Orders()
        let relay = LossyRelay(address: try #require(server.channel.localAddress), orders: orders)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await server.executeThenClose { links in
                    try await withThrowingDiscardingTaskGroup { group in
                        for try await link in links {
                            // Either side may go at any moment, which is what it is for.
                            group.addTask { try? await pass(link, target, orders, isWhole) }
                        }
                    }
                }
            }
            defer { group.cancelAll() }
            return try await body(relay)
        }
    }

    /// Passes on what the two say, until one goes or an answer is lost.
    private static func pass(
        _ client: Link, _ target: SocketAddress, _ orders: Orders, _ isWhole: @escaping @Sendable (ByteBuffer) -> Bool
    ) async throws {
        let server = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connect(to: target) {
            channel in channel.eventLoop.makeCompletedFuture { try Link(wrappingChannelSynchronously: channel) }
        }
        try await client.executeThenClose { requests, toClient in
            try await server.executeThenClose { answers, toServer in
                let isLosing = Flag()
                try await withThrowingTaskGroup(of: Void.self) { group in
                    group.addTask {
                        for try await bytes in requests {
                            if orders.isMet(by: bytes) { isLosing.raise() }
                            try await toServer.write(bytes)
                        }
                    }
                    group.addTask {
                        var dropped = ByteBuffer()
                        for try await bytes in answers {
                            guard isLosing.isRaised else {
                                try await toClient.write(bytes)
                                continue
                            }
                            dropped.writeImmutableBuffer(bytes)
                            if isWhole(dropped) { return orders.lost.withLock { $0 += 1 } }
                        }
                    }
                    try await group.next()
                    group.cancelAll()
                }
            }
        }
    }
}
