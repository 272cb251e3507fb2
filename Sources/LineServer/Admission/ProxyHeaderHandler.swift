package import NIOCore

/// A connection whose client address may come from a PROXY header.
package protocol ProxiedConnection: AnyObject {
    /// Receives the client's address, or nil if the socket's address applies.
    func didReceiveClientAddress(_ address: String?)

    /// Closes a connection that failed before its first request.
    func handshakeFailed(_ reason: String)
}

/// A handler that reads the PROXY header, reports the address to the connection, and removes itself.
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
