import NIOCore
import NIOPosix
import Synchronization

/// A TCP link from one client to a server, which can be stalled, or cut after so many bytes: in the midst of a line.
final class Link: Sendable {
    enum Direction: CaseIterable { case toServer, toClient }

    /// The port that the client connects to.
    let port: Int

    private let listener: any Channel
    private let ends: Ends

    /// The two channels, once the client is there.
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

    /// - Parameter receiveBufferBytes: the kernel's, of the end that the server writes to. A small one makes a client
    ///   that reads nothing felt at the server.
    static func open(to serverPort: Int, receiveBufferBytes: Int = 16_384) async throws -> Link {
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
        return Link(listener, ends)
    }

    private init(_ listener: any Channel, _ ends: Ends) {
        self.listener = listener
        self.ends = ends
        port = listener.localAddress?.port ?? 0
    }

    /// Cuts the link when so many more bytes have gone through in that direction; those before them arrive.
    func cut(after bytes: Int, _ direction: Direction) {
        ends.state.withLock { $0.bytesLeft[direction] = bytes }
    }

    /// Stops or goes on taking what the server writes, as a client does that is too busy to read.
    func setReading(_ isReading: Bool) async throws {
        let channels = ends.state.withLock { $0.channels }
        try await channels.last?.setOption(.autoRead, value: isReading).get()
    }

    func close() {
        listener.close(promise: nil)
        ends.cut()
    }
}

/// Writes to the other end what it reads at this one.
private final class Forwarder: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    private let direction: Link.Direction
    private let other: any Channel
    private let ends: Link.Ends

    init(_ direction: Link.Direction, to other: any Channel, _ ends: Link.Ends) {
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
