import NIOCore

/// Takes the PROXY header off a connection's beginning, tells the connection where its client is, and steps aside.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connection: ConnectionHandler
    private var bytes = ByteBuffer()

    init(of connection: ConnectionHandler) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        bytes.writeImmutableBuffer(Self.unwrapInboundIn(data))
        do throws(ProxyHeaderError) {
            guard let header = try ProxyHeader.read(from: &bytes) else { return }
            connection.comes(from: header)
            if bytes.readableBytes > 0 { context.fireChannelRead(Self.wrapInboundOut(bytes)) }
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            connection.isNotOpened("no PROXY header: \(error)")
        }
    }
}
