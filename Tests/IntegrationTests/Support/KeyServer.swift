import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// An HTTP server that stands in for a key publisher, counts requests, and responds as configured.
final class KeyServer: Sendable {
    enum Answer: Sendable {
        case says(Int, String, [String: String] = [:])
        /// No response.
        case silence
        /// A head, and an endless body.
        case flood
        /// A head, and a byte every 50 ms without end.
        case drip
    }

    private let channel: any Channel
    private let state: Mutex<(answer: Answer, count: Int)>

    var url: String { "http://127.0.0.1:\(channel.localAddress?.port ?? 0)/auth/keys" }

    /// The number of requests.
    var count: Int { state.withLock { $0.count } }

    /// Sets the response to all further requests.
    func answer(_ answer: Answer) { state.withLock { $0.answer = answer } }

    /// Runs a server while `body` runs.
    static func with<Value: Sendable>(
        _ answer: Answer, _ body: (KeyServer) async throws -> Value
    ) async throws -> Value {
        let running = Mutex<KeyServer?>(nil)
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler { running.withLock { $0 } })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let server = KeyServer(channel, answer)
        running.withLock { $0 = server }
        do {
            let value = try await body(server)
            try await channel.close()
            return value
        } catch {
            try await channel.close()
            throw error
        }
    }

    private init(_ channel: any Channel, _ answer: Answer) {
        self.channel = channel
        state = Mutex((answer, 0))
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let server: @Sendable () -> KeyServer?

        init(_ server: @escaping @Sendable () -> KeyServer?) { self.server = server }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .end = unwrapInboundIn(data), let server = server() else { return }
            let answer = server.state.withLock { state in
                state.count += 1
                return state.answer
            }
            switch answer {
            case .silence: break
            case .says(let status, let text, let headers):
                var fields = HTTPHeaders(headers.map { ($0.key, $0.value) })
                fields.add(name: "content-length", value: "\(text.utf8.count)")
                write(.head(.init(version: .http1_1, status: .init(statusCode: status), headers: fields)), context)
                write(.body(.byteBuffer(ByteBuffer(string: text))), context)
                write(.end(nil), context)
            case .flood:
                write(.head(.init(version: .http1_1, status: .ok)), context)
                write(.body(.byteBuffer(ByteBuffer(repeating: 0x20, count: 1 << 20))), context)
            case .drip:
                write(.head(.init(version: .http1_1, status: .ok)), context)
                let channel = context.channel
                let drops = channel.eventLoop.scheduleRepeatedTask(initialDelay: .zero, delay: .milliseconds(50)) { _ in
                    channel.writeAndFlush(
                        HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(string: " "))), promise: nil)
                }
                channel.closeFuture.whenComplete { _ in drops.cancel() }
            }
            context.flush()
        }

        private func write(_ part: HTTPServerResponsePart, _ context: ChannelHandlerContext) {
            context.write(wrapOutboundOut(part), promise: nil)
        }
    }
}
