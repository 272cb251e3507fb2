import BoundedWait
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A client that sends bytes as they are, and keeps what comes back.
actor RawSocketClient {
    private let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>

    /// - Parameter first: handlers that stand between the socket and the peer.
    static func connect(
        port: Int, _ first: @escaping @Sendable () throws -> [any ChannelHandler] = { [] }
    ) async throws -> RawSocketClient {
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(first())
                    return try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                }
            }
        return RawSocketClient(channel)
    }

    private init(_ channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>) { self.channel = channel }

    /// Sends that, and gives all that comes until the server closes the connection, or what `isEnough` asks for is here.
    ///
    /// - Parameter event: goes out behind the bytes, for handlers that stand before the peer.
    func exchange(
        _ bytes: [UInt8], then event: (any Sendable)? = nil,
        until isEnough: (@Sendable (String) -> Bool)? = nil
    ) async throws -> [UInt8] {
        let received = Received()
        do {
            try await within("the server's end of the connection") { [channel] in
                try await channel.executeThenClose { inbound, outbound in
                    do {
                        if let event {
                            // Behind what is out, and not what waits for a handshake.
                            try await channel.channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
                            try await channel.channel.triggerUserOutboundEvent(event).get()
                        } else if !bytes.isEmpty {
                            try await outbound.write(ByteBuffer(bytes: bytes))
                        }
                        for try await buffer in inbound {
                            received.append(buffer)
                            // The text of all is made only where it is looked at: of 5 MB it takes long.
                            if let isEnough, isEnough(received.text) { break }
                        }
                    } catch is IOError {
                        // The server closed it while bytes of ours were unread.
                    }
                }
            }
        } catch NIOSSLError.uncleanShutdown where event != nil {
            // Whoever ends its own side so is told of the other side's end as of one.
        }
        return received.bytes
    }

    /// Sends that, and leaves the connection open.
    func send(_ bytes: [UInt8]) async throws {
        try await channel.channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    /// Sends that and closes the connection, whatever comes back.
    func sendAndClose(_ bytes: [UInt8]) async throws {
        try await channel.executeThenClose { _, outbound in try await outbound.write(ByteBuffer(bytes: bytes)) }
    }

    /// Exchanges bytes like ``exchange``, one byte per segment.
    func exchangeByByte(_ bytes: [UInt8]) async throws -> [UInt8] {
        try await within("the server's end of the connection") { [channel] in
            try await channel.executeThenClose { inbound, outbound in
                for byte in bytes { try await outbound.write(ByteBuffer(bytes: [byte])) }
                var received: [UInt8] = []
                for try await buffer in inbound { received += buffer.readableBytesView }
                return received
            }
        }
    }

    /// Collects received bytes, also if the connection ends with an error.
    private final class Received: Sendable {
        private let state = Mutex<[UInt8]>([])

        var bytes: [UInt8] { state.withLock { $0 } }

        var text: String { String(decoding: bytes, as: UTF8.self) }

        func append(_ buffer: ByteBuffer) { state.withLock { $0 += buffer.readableBytesView } }
    }
}
