import NIOCore

/// Tells a server that does not speak TLS by the first byte that it sends, before TLS finds that byte wrong.
final class PlainServerDetector: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// A record of TLS begins with its content type; a server's first one is an alert or a handshake (RFC 8446, B.1).
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
                    "The server at \(server.host):\(server.port) does not speak TLS on that port: leave --tls "
                        + "(isEncrypted) away."))
            return context.close(promise: nil)
        }
        context.fireChannelRead(data)
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }
}
