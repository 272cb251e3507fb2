import NIOCore

/// A handler that detects a server without TLS by its first byte, before the TLS handler rejects that byte.
final class PlainServerDetector: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The content types of a server's first TLS record: alert or handshake (RFC 8446, B.1).
    private static let firstBytes: ClosedRange<UInt8> = 21...22

    private let server: Server
    private let inbox: Inbox

    init(_ server: Server, _ inbox: Inbox) {
        self.server = server
        self.inbox = inbox
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = Self.unwrapInboundIn(data)
        guard let first = bytes.getInteger(at: bytes.readerIndex, as: UInt8.self) else { return }
        guard Self.firstBytes.contains(first) else {
            inbox.failed(
                PostlineError(
                    .notTrusted,
                    "The server at \(server.host):\(server.port) does not speak TLS on that port. Connect without "
                        + "TLS: isEncrypted: false, or no --tls."))
            return context.close(promise: nil)
        }
        context.fireChannelRead(data)
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }
}
