import NIOCore

/// A channel handler that applies the chunked transfer coding to a response of unknown length (RFC 9112, section 7.1).
/// Each write is a chunk, so that the client can read it immediately.
final class ChunkedContent: ChannelOutboundHandler {
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private var hasEnded = false

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let content = Self.unwrapOutboundIn(data)
        // An empty chunk would end the response.
        guard content.readableBytes > 0 else { return context.write(data, promise: promise) }
        let size = String(content.readableBytes, radix: 16)
        context.write(Self.wrapOutboundOut(ByteBuffer(string: "\(size)\r\n")), promise: nil)
        context.write(Self.wrapOutboundOut(content), promise: nil)
        context.write(Self.wrapOutboundOut(Self.lineEnd), promise: promise)
    }

    private static let lineEnd = ByteBuffer(string: "\r\n")
    private static let end = ByteBuffer(string: "0\r\n\r\n")

    func close(context: ChannelHandlerContext, mode: CloseMode, promise: EventLoopPromise<Void>?) {
        if mode != .input, !hasEnded {
            hasEnded = true
            context.writeAndFlush(Self.wrapOutboundOut(Self.end), promise: nil)
        }
        context.close(mode: mode, promise: promise)
    }
}
