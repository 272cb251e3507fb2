import NIOCore
import NIOPosix

/// A client that sends bytes as they are, and keeps what comes back.
actor BarePeer {
    private let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>

    /// - Parameter first: handlers that stand between the socket and the peer.
    static func connect(
        port: Int, _ first: @escaping @Sendable () throws -> [any ChannelHandler] = { [] }
    ) async throws -> BarePeer {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(first())
                    return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return BarePeer(channel)
    }

    private init(_ channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>) { self.channel = channel }

    /// Sends that, and gives all that comes until the server closes the connection, or what `isEnough` asks for is here.
    func exchange(
        _ bytes: [UInt8], until isEnough: @escaping @Sendable (String) -> Bool = { _ in false }
    ) async throws -> [UInt8] {
        try await within("the server's end of the connection") { [channel] in
            try await channel.executeThenClose { inbound, outbound in
                var received: [UInt8] = []
                do {
                    if !bytes.isEmpty { try await outbound.write(ByteBuffer(bytes: bytes)) }
                    for try await buffer in inbound {
                        received += buffer.readableBytesView
                        if isEnough(String(decoding: received, as: UTF8.self)) { break }
                    }
                } catch is IOError {
                    // The server closed it while bytes of ours were unread.
                }
                return received
            }
        }
    }
}
