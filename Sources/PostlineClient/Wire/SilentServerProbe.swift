import NIOCore

/// Says something where a server has said nothing for a second.
///
/// A server of lines speaks first; one of HTTP waits for a request, and says what it is only to what it cannot read.
final class SilentServerProbe: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What asks for nothing, and is not answered: a server of lines may be slow to accept.
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
