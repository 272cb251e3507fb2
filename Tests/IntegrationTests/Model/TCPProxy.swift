import LineClient
import NIOCore
import NIOPosix
import Synchronization

/// A TCP proxy between one client and a server. It can stall, or cut the connection after a number of bytes, also
/// within a line.
final class TCPProxy: Sendable {
    enum Direction: CaseIterable { case toServer, toClient }

    /// The port that the client connects to.
    let port: Int

    private let listener: any Channel
    private let ends: Ends

    /// The two channels, once the client is connected.
    fileprivate final class Ends: Sendable {
        struct State {
            var channels: [any Channel] = []
            var bytesLeft: [Direction: Int] = [:]
        }

        let state = Mutex(State())

        func cut() {
            for channel in state.withLock({ $0.channels }) { channel.close(promise: nil) }
        }
    }

    /// - Parameter receiveBufferBytes: The kernel's receive buffer on the server's side. A small one lets the server
    ///   notice a client that does not read.
    static func open(to serverPort: Int, receiveBufferBytes: Int = 16_384) async throws -> TCPProxy {
        let ends = Ends()
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let listener = try await ServerBootstrap(group: loop)
            .childChannelOption(.autoRead, value: false)
            .childChannelOption(.tcpOption(.tcp_nodelay), value: 1)
            .childChannelInitializer { client in
                ClientBootstrap(group: loop)
                    .channelOption(.autoRead, value: false)
                    .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                    .channelOption(.socketOption(.so_rcvbuf), value: .init(receiveBufferBytes))
                    .connect(host: "127.0.0.1", port: serverPort)
                    .flatMap { server in
                        ends.state.withLock { $0.channels = [client, server] }
                        return client.pipeline.addHandler(Forwarder(.toServer, to: server, ends))
                            .flatMap { server.pipeline.addHandler(Forwarder(.toClient, to: client, ends)) }
                            .flatMap { server.setOption(.autoRead, value: true) }
                            .flatMap { client.setOption(.autoRead, value: true) }
                    }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        return TCPProxy(listener, ends)
    }

    private init(_ listener: any Channel, _ ends: Ends) {
        self.listener = listener
        self.ends = ends
        port = listener.localAddress?.port ?? 0
    }

    /// Cuts the connection after that many more bytes in a direction, which still arrive.
    func cut(after bytes: Int, _ direction: Direction) {
        ends.state.withLock { $0.bytesLeft[direction] = bytes }
    }

    /// Stops or resumes reading from the server, like a busy client.
    func setReading(_ isReading: Bool) async throws {
        let channels = ends.state.withLock { $0.channels }
        try await channels.last?.setOption(.autoRead, value: isReading).get()
    }

    func close() {
        listener.close(promise: nil)
        ends.cut()
    }
}

/// Writes its input to the other channel.
private final class Forwarder: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let direction: TCPProxy.Direction
    private let other: any Channel
    private let ends: TCPProxy.Ends

    init(_ direction: TCPProxy.Direction, to other: any Channel, _ ends: TCPProxy.Ends) {
        self.direction = direction
        self.other = other
        self.ends = ends
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        let isCut = ends.state.withLock { state in
            guard let left = state.bytesLeft[direction] else { return false }
            state.bytesLeft[direction] = left - bytes.readableBytes
            guard left <= bytes.readableBytes else { return false }
            bytes = bytes.getSlice(at: bytes.readerIndex, length: max(0, left)) ?? ByteBuffer()
            return true
        }
        let written = other.writeAndFlush(bytes)
        if isCut { written.whenComplete { [ends] _ in ends.cut() } }
    }

    func channelInactive(context: ChannelHandlerContext) { ends.cut() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { ends.cut() }
}
