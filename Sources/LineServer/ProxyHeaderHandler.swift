import NIOCore

/// Takes the PROXY header off a connection's beginning, tells the connection where its client is, and steps aside.
final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    private let connection: ConnectionHandler
    private var bytes = ByteBuffer()

    init(of connection: ConnectionHandler) { self.connection = connection }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.bytes.writeImmutableBuffer(Self.unwrapInboundIn(data))
        do throws(ProxyHeaderError) {
            guard let header = try ProxyHeader.read(from: &self.bytes) else { return }
            self.connection.comes(from: header)
            if self.bytes.readableBytes > 0 { context.fireChannelRead(Self.wrapInboundOut(self.bytes)) }
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            self.connection.isNotOpened("no PROXY header: \(error)")
        }
    }
}
