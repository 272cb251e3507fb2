import BoundedWait
import LineClient
import NIOCore
import NIOPosix
import Postgres

/// A raw connection whose input is searched as text.
struct TextConnection: Sendable {
    private let channel: any Channel
    private let pieces: AsyncStream<String>

    static func open(to address: ComposedSystem.Address) async throws -> TextConnection {
        let (pieces, received) = AsyncStream.makeStream(of: String.self)
        let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.seconds(5))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(Receiver(received))
                }
            }
            .connect(host: address.host, port: address.port).get()
        return TextConnection(channel: channel, pieces: pieces)
    }

    func send(_ bytes: some Sequence<UInt8> & Sendable) async throws {
        try await channel.writeAndFlush(ByteBuffer(bytes: bytes))
    }

    /// Reads until new input contains the text.
    ///
    /// - Returns: All input up to then.
    /// - Throws: `CheckFailure` if the connection ends before.
    @discardableResult
    func waitForText(_ text: String) async throws -> String {
        try await within("\"\(text)\" to come") {
            var read = ""
            for await piece in pieces {
                read += piece
                if read.contains(text) { return read }
            }
            throw CheckFailure(description: "the connection ended before \"\(text)\" came, after: \(read.suffix(500))")
        }
    }

    func close() async { try? await channel.close() }
}

/// Forwards input as it arrives.
private final class Receiver: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let received: AsyncStream<String>.Continuation

    init(_ received: AsyncStream<String>.Continuation) { self.received = received }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        received.yield(String(buffer: unwrapInboundIn(data)))
    }

    func channelInactive(context: ChannelHandlerContext) { received.finish() }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
