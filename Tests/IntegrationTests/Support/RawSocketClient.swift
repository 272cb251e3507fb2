import BoundedWait
import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// A client that sends raw bytes and collects the response.
actor RawSocketClient {
    private let channel: NIOAsyncChannel<ByteBuffer, ByteBuffer>

    /// - Parameter first: Handlers between the socket and the client.
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

    /// Sends bytes, and returns the input until the server closes or `isEnough` returns true.
    ///
    /// - Parameter event: An outbound event for the handlers, after the bytes.
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
                            // The event must follow the written bytes, not those that wait for a handshake.
                            try await channel.channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
                            try await channel.channel.triggerUserOutboundEvent(event).get()
                        } else if !bytes.isEmpty {
                            try await outbound.write(ByteBuffer(bytes: bytes))
                        }
                        for try await buffer in inbound {
                            received.append(buffer)
                            // The text is built only if needed: 5 MB take long.
                            if let isEnough, isEnough(received.text) { break }
                        }
                    } catch is IOError {
                        // The server closed with our bytes unread.
                    }
                }
            }
        } catch NIOSSLError.uncleanShutdown where event != nil {
            // After a half-close the end of the other side is reported this way.
        }
        return received.bytes
    }

    /// Sends bytes, and leaves the connection open.
    func send(_ bytes: [UInt8]) async throws {
        try await channel.channel.writeAndFlush(ByteBuffer(bytes: bytes)).get()
    }

    /// Sends bytes, and closes the connection at once.
    func sendAndClose(_ bytes: [UInt8]) async throws {
        try await channel.executeThenClose { _, outbound in try await outbound.write(ByteBuffer(bytes: bytes)) }
    }

    /// Like ``exchange``, with one byte per segment.
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

    /// The received bytes, which remain if the connection ends with an error.
    private final class Received: Sendable {
        private let state = Mutex<[UInt8]>([])

        var bytes: [UInt8] { state.withLock { $0 } }

        var text: String { String(decoding: bytes, as: UTF8.self) }

        func append(_ buffer: ByteBuffer) { state.withLock { $0 += buffer.readableBytesView } }
    }
}
