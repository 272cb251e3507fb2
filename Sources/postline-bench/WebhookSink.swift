import ChangeFeed
import LineClient
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import WireProtocol

/// A server that accepts every push and records its arrival.
final class WebhookSink: Sendable {
    /// A push that covers all messages up to this one.
    struct Arrival: Sendable {
        let seq: Int
        let time: ContinuousClock.Instant
    }

    let port: Int
    private let channel: any Channel
    private let log: Log

    /// The arrivals of each conversation, in order.
    var arrivals: [String: [Arrival]] { log.arrivals.withLock { $0 } }

    var url: String { "http://127.0.0.1:\(port)/" }

    /// Runs a server while `body` runs, on its own thread, since the clients' is busy.
    ///
    /// - Parameter delay: the time from the arrival of a push to its response.
    static func with<Value: Sendable>(
        answeringAfter delay: TimeAmount = .zero, _ body: (WebhookSink) async throws -> Value
    ) async throws -> Value {
        let threads = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        let log = Log()
        let channel = try await ServerBootstrap(group: threads)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(log, delay))
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let result: Result<Value, any Error>
        do {
            result = .success(try await body(WebhookSink(channel, log)))
        } catch {
            result = .failure(error)
        }
        try? await channel.close()
        try? await threads.shutdownGracefully()
        return try result.get()
    }

    private init(_ channel: any Channel, _ log: Log) {
        self.channel = channel
        self.log = log
        port = channel.localAddress?.port ?? 0
    }

    private final class Log: Sendable {
        let arrivals = Mutex<[String: [Arrival]]>([:])

        func note(_ body: ByteBuffer, at time: ContinuousClock.Instant) {
            guard let delivery = try? JSON(parsing: body), delivery["type"]?.stringValue == "message",
                let conversation = delivery["push"]?["conversation_id"]?.stringValue,
                let seq = delivery["push"]?["seq"]?.integerValue
            else { return }
            arrivals.withLock { $0[conversation, default: []].append(Arrival(seq: seq, time: time)) }
        }
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let log: Log
        private let delay: TimeAmount
        private var body = ByteBuffer()

        init(_ log: Log, _ delay: TimeAmount) {
            self.log = log
            self.delay = delay
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head: body.clear()
            case .body(var bytes): body.writeBuffer(&bytes)
            case .end:
                log.note(body, at: .now)
                if delay == .zero { return answer(context) }
                context.eventLoop.assumeIsolated().scheduleTask(in: delay) { self.answer(context) }
            }
        }

        private func answer(_ context: ChannelHandlerContext) {
            let head = HTTPResponseHead(version: .http1_1, status: .ok, headers: ["content-length": "0"])
            context.write(wrapOutboundOut(.head(head)), promise: nil)
            context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
    }
}
