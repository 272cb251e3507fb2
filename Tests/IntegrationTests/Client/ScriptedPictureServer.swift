import Foundation
import NIOConcurrencyHelpers
import NIOCore
import NIOHTTP1
import NIOPosix

/// An HTTP server of pictures that records the requests, and can hold its responses back.
final class ScriptedPictureServer: Sendable {
    private struct State {
        var answers: [String: [(status: Int, body: Data)]] = [:]
        var requests: [String] = []
        var isHolding = false
        var held: [@Sendable () -> Void] = []
        var openCount = 0
        var mostOpen = 0
    }

    private let state = NIOLockedValueBox(State())
    private let listener: any Channel

    /// Runs a server for the duration of `body`.
    static func with<Value: Sendable>(
        _ body: (ScriptedPictureServer) async throws -> Value
    ) async throws -> Value {
        let server = try await ScriptedPictureServer()
        do {
            let value = try await body(server)
            try await server.listener.close()
            return value
        } catch {
            try? await server.listener.close()
            throw error
        }
    }

    private init() async throws {
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { [state] channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(Handler(state))
                }
            }.bind(host: "127.0.0.1", port: 0).get()
    }

    /// The paths of all requests, in order.
    var requests: [String] { state.withLockedValue(\.requests) }

    /// The largest number of requests at a time.
    var mostOpen: Int { state.withLockedValue(\.mostOpen) }

    /// The number of requests without a response whose connection is open.
    var openCount: Int { state.withLockedValue(\.openCount) }

    func url(_ path: String) -> String { "http://127.0.0.1:\(listener.localAddress?.port ?? 0)/\(path)" }

    /// Sets the responses to a path: each is sent once, and the last one from then on.
    func answer(_ path: String, _ answers: (status: Int, body: Data)...) {
        state.withLockedValue { $0.answers["/" + path] = answers }
    }

    /// Holds responses back until ``release()``.
    func hold() { state.withLockedValue { $0.isHolding = true } }

    func release() {
        let held = state.withLockedValue { state in
            defer { (state.isHolding, state.held) = (false, []) }
            return state.held
        }
        for respond in held { respond() }
    }

    private final class Handler: ChannelInboundHandler, Sendable {
        typealias InboundIn = HTTPServerRequestPart

        private let state: NIOLockedValueBox<State>

        init(_ state: NIOLockedValueBox<State>) { self.state = state }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .head(let head) = Self.unwrapInboundIn(data) else { return }
            let channel = context.channel
            let state = state
            channel.closeFuture.whenComplete { _ in state.withLockedValue { $0.openCount -= 1 } }
            let respond: (@Sendable () -> Void)? = state.withLockedValue { state in
                state.requests.append(head.uri)
                state.openCount += 1
                state.mostOpen = max(state.mostOpen, state.openCount)
                let answers = state.answers[head.uri] ?? [(404, Data())]
                if answers.count > 1 { state.answers[head.uri] = Array(answers.dropFirst()) }
                let (status, body) = answers[0]
                let respond: @Sendable () -> Void = {
                    let head = HTTPResponseHead(
                        version: .http1_1, status: .init(statusCode: status),
                        headers: ["Content-Length": "\(body.count)", "Connection": "close"])
                    channel.write(HTTPServerResponsePart.head(head), promise: nil)
                    channel.write(HTTPServerResponsePart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
                    channel.writeAndFlush(HTTPServerResponsePart.end(nil)).whenComplete { _ in
                        channel.close(promise: nil)
                    }
                }
                if !state.isHolding { return respond }
                state.held.append(respond)
                return nil
            }
            respond?()
        }
    }
}
