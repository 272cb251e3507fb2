import NIOCore
import NIOPosix
import Synchronization

/// A TCP proxy between clients and a server. It can stall, end its connections, and end them after a number of bytes,
/// also within a line.
final class TCPProxy: Sendable {
    enum Direction: CaseIterable { case toServer, toClient }

    /// The port that clients connect to.
    let port: Int

    private let listener: any Channel
    private let connections: Connections

    /// The open channels on both sides.
    fileprivate final class Connections: Sendable {
        private struct State {
            var isCut = false
            var channels: [ObjectIdentifier: (channel: any Channel, direction: Direction)] = [:]
            var bytesLeft: [Direction: Int] = [:]
        }

        private let state = Mutex(State())

        /// Keeps a channel, and the direction of what it receives, until it closes. Returns false while the proxy is cut.
        func add(_ channel: any Channel, _ direction: Direction) -> Bool {
            let isAccepted = state.withLock { state in
                if !state.isCut { state.channels[ObjectIdentifier(channel)] = (channel, direction) }
                return !state.isCut
            }
            channel.closeFuture.whenComplete { [self] _ in
                state.withLock { _ = $0.channels.removeValue(forKey: ObjectIdentifier(channel)) }
            }
            return isAccepted
        }

        func channels(_ direction: Direction) -> [any Channel] {
            state.withLock { $0.channels.values.filter { $0.direction == direction }.map(\.channel) }
        }

        func setCut(_ isCut: Bool) {
            state.withLock { $0.isCut = isCut }
            if isCut { close() }
        }

        func close() {
            for direction in Direction.allCases {
                for channel in channels(direction) { channel.close(promise: nil) }
            }
        }

        func limit(_ direction: Direction, to bytes: Int) { state.withLock { $0.bytesLeft[direction] = bytes } }

        /// Returns the bytes that may pass, and true if they are the last.
        func pass(_ bytes: ByteBuffer, _ direction: Direction) -> (ByteBuffer, isLast: Bool) {
            state.withLock { state in
                guard let left = state.bytesLeft[direction] else { return (bytes, false) }
                state.bytesLeft[direction] = left - bytes.readableBytes
                guard left <= bytes.readableBytes else { return (bytes, false) }
                return (bytes.getSlice(at: bytes.readerIndex, length: max(0, left)) ?? ByteBuffer(), true)
            }
        }
    }

    /// - Parameter receiveBufferBytes: The kernel's receive buffer on the server's side. A small one lets the server
    ///   notice a client that does not read.
    init(to serverPort: Int, receiveBufferBytes: Int = 16_384) async throws {
        let connections = Connections()
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        listener = try await ServerBootstrap(group: loop)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { client in
                guard connections.add(client, .toServer) else { return client.close() }
                return ClientBootstrap(group: loop)
                    .channelOption(.autoRead, value: false)
                    .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                    .channelOption(.socketOption(.so_rcvbuf), value: .init(receiveBufferBytes))
                    .connect(host: "127.0.0.1", port: serverPort)
                    .flatMap { server in
                        guard connections.add(server, .toClient) else {
                            server.close(promise: nil)
                            return client.close()
                        }
                        return client.pipeline.addHandler(Forwarder(.toServer, to: server, connections))
                            .flatMap { server.pipeline.addHandler(Forwarder(.toClient, to: client, connections)) }
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

    /// Ends all connections after that many more bytes in a direction, which still arrive.
    func cut(after bytes: Int, _ direction: Direction) { connections.limit(direction, to: bytes) }

    /// Stops or resumes reading from the server, like a busy client.
    func setReading(_ isReading: Bool) async throws {
        for channel in connections.channels(.toClient) {
            try await channel.setOption(.autoRead, value: isReading).get()
        }
    }

    func close() {
        listener.close(promise: nil)
        connections.setCut(true)
    }
}

/// Writes what a channel receives to its peer, and closes the peer after it.
private final class Forwarder: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let direction: TCPProxy.Direction
    private let peer: any Channel
    private let connections: TCPProxy.Connections

    init(_ direction: TCPProxy.Direction, to peer: any Channel, _ connections: TCPProxy.Connections) {
        self.direction = direction
        self.peer = peer
        self.connections = connections
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let (bytes, isLast) = connections.pass(unwrapInboundIn(data), direction)
        let written = peer.writeAndFlush(bytes)
        if isLast { written.whenComplete { [connections] _ in connections.close() } }
    }

    func channelInactive(context: ChannelHandlerContext) { peer.close(promise: nil) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { peer.close(promise: nil) }
}
