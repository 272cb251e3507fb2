package import NIOCore

/// A connection whose client a balancer tells of before its first byte.
package protocol ProxiedConnection: AnyObject {
    /// The balancer has told where the client is; nil: where the socket leads.
    func didReceiveClientAddress(_ address: String?)

    /// The client did not do what comes before its first request, and is not to be served.
    func handshakeFailed(_ reason: String)
}

/// Takes the PROXY header off a connection's beginning, tells the connection where its client is, and steps aside.
package final class ProxyHeaderHandler: ChannelInboundHandler, RemovableChannelHandler {
    package typealias InboundIn = ByteBuffer
    package typealias InboundOut = ByteBuffer

    private let connection: any ProxiedConnection
    private var bytes = ByteBuffer()

    package init(of connection: any ProxiedConnection) { self.connection = connection }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        bytes.writeImmutableBuffer(Self.unwrapInboundIn(data))
        do throws(ProxyHeaderError) {
            guard let header = try ProxyHeader.read(from: &bytes) else { return }
            connection.didReceiveClientAddress(header.source)
            if bytes.readableBytes > 0 { context.fireChannelRead(Self.wrapInboundOut(bytes)) }
            context.pipeline.syncOperations.removeHandler(self, promise: nil)
        } catch {
            connection.handshakeFailed("no PROXY header: \(error)")
        }
    }
}
