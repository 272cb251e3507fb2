import NIOCore
import NIOHTTP1
import NIOWebSocket

extension ChannelPipeline.SynchronousOperations {
    /// The longest line that a server sends: a response of 4 MiB and its envelope.
    static let maximumLineBytes = 8 << 20

    /// Adds the handlers that turn bytes into lines, over TCP or WebSocket.
    func addLines(of server: Server, to inbox: Inbox) throws {
        guard case .webSocket(let path) = server.transport else {
            try addHandler(SilentServerProbe())
            try addHandler(ByteToMessageHandler(LineDecoder(), maximumBufferSize: Self.maximumLineBytes))
            return try addHandler(InboxHandler(inbox))
        }
        let upgrader = NIOWebSocketClientUpgrader(maxFrameSize: Self.maximumLineBytes) { channel, _ in
            channel.eventLoop.makeCompletedFuture {
                try channel.pipeline.syncOperations.addHandlers(
                    NIOWebSocketFrameAggregator(
                        minNonFinalFragmentSize: 0, maxAccumulatedFrameCount: 1_024,
                        maxAccumulatedFrameSize: Self.maximumLineBytes),
                    WebSocketLineCodec())
                try channel.pipeline.syncOperations.addHandler(InboxHandler(inbox))
            }
        }
        try addHTTPClientHandlers(
            leftOverBytesStrategy: .forwardBytes,
            withClientUpgrade: (
                upgraders: [upgrader],
                completionHandler: { context in
                    let pipeline = context.pipeline.syncOperations
                    if let refusal = try? pipeline.context(handlerType: UpgradeRejectionHandler.self) {
                        pipeline.removeHandler(context: refusal, promise: nil)
                    }
                }
            ))
        try addHandlers(UpgradeRequestHandler(host: server.host, path: path), UpgradeRejectionHandler(inbox))
    }
}

/// A handler that requests the WebSocket upgrade once the connection is open.
private final class UpgradeRequestHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let host: String
    private let path: String

    init(host: String, path: String) {
        self.host = host
        self.path = path
    }

    func channelActive(context: ChannelHandlerContext) {
        let headers: HTTPHeaders = ["Host": host, "Sec-WebSocket-Protocol": "postline.v1"]
        context.write(
            Self.wrapOutboundOut(.head(.init(version: .http1_1, method: .GET, uri: path, headers: headers))),
            promise: nil)
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: nil)
        context.pipeline.syncOperations.removeHandler(context: context, promise: nil)
    }
}

/// A handler that reports a refused upgrade to the inbox.
private final class UpgradeRejectionHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = HTTPClientResponsePart

    private let inbox: Inbox

    init(_ inbox: Inbox) { self.inbox = inbox }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .head(let head) = Self.unwrapInboundIn(data) {
            // 429 and 5xx come from a server that will be available again.
            let isTemporary = head.status.code == 429 || head.status.code >= 500
            inbox.failed(
                PostlineError(
                    isTemporary ? .offline : .notTrusted, "The server refused a WebSocket: \(head.status)",
                    isRetryable: isTemporary))
            context.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        inbox.failed(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        inbox.closed()
    }
}

/// A codec for lines in WebSocket text messages, on the client's side.
private final class WebSocketLineCodec: ChannelDuplexHandler {
    typealias InboundIn = WebSocketFrame
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = WebSocketFrame

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let frame = Self.unwrapInboundIn(data)
        switch frame.opcode {
        case .text: context.fireChannelRead(Self.wrapInboundOut(frame.unmaskedData))
        case .ping:
            context.writeAndFlush(
                Self.wrapOutboundOut(.init(fin: true, opcode: .pong, maskKey: .random(), data: frame.unmaskedData)),
                promise: nil)
        case .connectionClose: context.close(promise: nil)
        default: break
        }
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        var line = Self.unwrapOutboundIn(data)
        // A message is a line without its line feed.
        line.moveWriterIndex(to: line.writerIndex - 1)
        context.write(
            Self.wrapOutboundOut(.init(fin: true, opcode: .text, maskKey: .random(), data: line)), promise: promise)
    }
}
