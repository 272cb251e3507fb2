import NIOCore

/// A handler that sends a line if the server is silent for a second.
///
/// A Postline server speaks first. An HTTP server waits for a request, and reveals itself by its response to this line.
final class SilentServerProbe: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// A notification without effect or response, because a Postline server may just be slow to accept.
    private static let notice = ByteBuffer(string: #"{"jsonrpc":"2.0","method":"server.info"}"# + "\n")

    private static let waitTimeout = TimeAmount.seconds(1)

    private var probe: Scheduled<Void>?

    func channelActive(context: ChannelHandlerContext) {
        probe = context.eventLoop.assumeIsolated().scheduleTask(in: Self.waitTimeout) {
            context.writeAndFlush(Self.wrapOutboundOut(Self.notice), promise: nil)
        }
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.fireChannelRead(data)
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        probe?.cancel()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { probe?.cancel() }
}
