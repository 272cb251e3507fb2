import NIOCore
import NIOPosix
import Synchronization

/// A TCP proxy that ends its connections and accepts none while it is cut.
final class CuttableProxy: Sendable {
    /// The port that clients connect to.
    let port: Int

    private let listener: any Channel
    private let connections: Connections

    fileprivate final class Connections: Sendable {
        private struct State {
            var isCut = false
            var channels: [ObjectIdentifier: any Channel] = [:]
        }

        private let state = Mutex(State())

        /// Keeps a channel until it closes. Returns false while the proxy is cut.
        func add(_ channel: any Channel) -> Bool {
            let isAccepted = state.withLock { state in
                if !state.isCut { state.channels[ObjectIdentifier(channel)] = channel }
                return !state.isCut
            }
            channel.closeFuture.whenComplete { [self] _ in
                state.withLock { _ = $0.channels.removeValue(forKey: ObjectIdentifier(channel)) }
            }
            return isAccepted
        }

        func setCut(_ isCut: Bool) {
            let closed = state.withLock { state in
                state.isCut = isCut
                return isCut ? Array(state.channels.values) : []
            }
            for channel in closed { channel.close(promise: nil) }
        }
    }

    init(to serverPort: Int) async throws {
        let connections = Connections()
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        listener = try await ServerBootstrap(group: loop)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { client in
                guard connections.add(client) else { return client.close() }
                return ClientBootstrap(group: loop)
                    .channelOption(.autoRead, value: false)
                    .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                    .connect(host: "127.0.0.1", port: serverPort)
                    .flatMap { server in
                        _ = connections.add(server)
                        return client.pipeline.addHandler(PeerWriter(to: server))
                            .flatMap { server.pipeline.addHandler(PeerWriter(to: client)) }
                            .flatMap { server.setOption(.autoRead, value: true) }
                            .flatMap { client.setOption(.autoRead, value: true) }
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        self.connections = connections
        port = listener.localAddress?.port ?? 0
    }

    /// Ends all connections and closes new ones, until ``mend()``.
    func cut() { connections.setCut(true) }

    /// Accepts connections again.
    func mend() { connections.setCut(false) }

    func close() {
        listener.close(promise: nil)
        connections.setCut(true)
    }
}

/// Writes what a channel receives to its peer, and closes the peer after it.
private final class PeerWriter: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let peer: any Channel

    init(to peer: any Channel) { self.peer = peer }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        peer.writeAndFlush(unwrapInboundIn(data), promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { peer.close(promise: nil) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { peer.close(promise: nil) }
}
