import NIOCore
import NIOPosix

/// Publishes to `nats-server`, by its text protocol.
struct Publisher: Sendable {
    private let channel: any Channel

    static func connect(port: Int, group: MultiThreadedEventLoopGroup) async throws -> Publisher {
        let channel = try await ClientBootstrap(group: group)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .connect(host: "127.0.0.1", port: port).get()
        channel.writeAndFlush(ByteBuffer(string: "CONNECT {\"verbose\":false}\r\n"), promise: nil)
        return Publisher(channel: channel)
    }

    func publish(_ text: String) async throws {
        try await channel.writeAndFlush(ByteBuffer(string: "PUB change \(text.utf8.count)\r\n\(text)\r\n"))
    }

    func close() async { try? await channel.close().get() }
}
