import BoundedWait
import Foundation
import NIOCore
import NIOHTTP1
import NIOHTTP2
import NIOPosix
import NIOSSL
import Synchronization

/// A stand-in for push providers: an HTTP/2 server with TLS that records requests and sends configured answers.
final class PushStandIn: Sendable {
    struct Request: Sendable {
        let path: String
        let headers: [String: String]
        let body: Data

        var json: [String: Any] {
            get throws { try JSONSerialization.jsonObject(with: body) as? [String: Any] ?? [:] }
        }
    }

    enum Answer: Sendable {
        case says(Int, String = "", headers: [String: String] = [:])
        /// No response.
        case silence
        /// The head and a part of the body, then the end of the connection.
        case half
    }

    let port: Int
    private let channel: any Channel
    private let state: Mutex<State>

    private struct State {
        var requests: [Request] = []
        var answer: @Sendable (Request) -> Answer
    }

    var url: String { "https://localhost:\(port)" }

    /// The requests so far, in order.
    var requests: [Request] { state.withLock { $0.requests } }

    /// Runs a stand-in while `body` runs.
    static func with<Value: Sendable>(
        _ certificates: TestCertificates, _ body: (PushStandIn) async throws -> Value
    ) async throws -> Value {
        try certificates.issue()
        var tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMFile(certificates.files.certificate)
                .map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(file: certificates.files.key, format: .pem)))
        tls.applicationProtocols = ["h2"]
        let context = try NIOSSLContext(configuration: tls)
        let state = Mutex<PushStandIn?>(nil)
        let bootstrap = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                    _ = try channel.pipeline.syncOperations.configureHTTP2Pipeline(
                        mode: .server, connectionConfiguration: .init(), streamConfiguration: .init()
                    ) { stream in
                        stream.eventLoop.makeCompletedFuture {
                            try stream.pipeline.syncOperations.addHandlers(
                                HTTP2FramePayloadToHTTP1ServerCodec(), Handler { state.withLock { $0 } })
                        }
                    }
                }
            }
        let channel = try await bootstrap.bind(host: "127.0.0.1", port: 0).get()
        let standIn = PushStandIn(channel)
        state.withLock { $0 = standIn }
        do {
            let value = try await body(standIn)
            try await channel.close()
            return value
        } catch {
            try await channel.close()
            throw error
        }
    }

    private init(_ channel: any Channel) {
        self.channel = channel
        port = channel.localAddress?.port ?? 0
        state = Mutex(State(answer: { _ in .says(200, "{}") }))
    }

    /// Sets the answer to later requests.
    func answer(_ answer: @escaping @Sendable (Request) -> Answer) { state.withLock { $0.answer = answer } }

    /// Waits for `count` matching requests, and returns them.
    func received(_ count: Int, where predicate: @escaping @Sendable (Request) -> Bool = { _ in true }) async throws
        -> [Request]
    {
        try await eventually("\(count) requests of a provider") {
            let matching = self.requests.filter(predicate)
            return matching.count < count ? nil : matching
        }
    }

    private func take(_ request: Request) -> Answer {
        let answer = state.withLock { state in
            state.requests.append(request)
            return state.answer
        }
        return answer(request)
    }

    private final class Handler: ChannelInboundHandler {
        typealias InboundIn = HTTPServerRequestPart
        typealias OutboundOut = HTTPServerResponsePart

        private let standIn: @Sendable () -> PushStandIn?
        private var head: HTTPRequestHead?
        private var body = Data()

        init(_ standIn: @escaping @Sendable () -> PushStandIn?) { self.standIn = standIn }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head): self.head = head
            case .body(let bytes): body.append(contentsOf: bytes.readableBytesView)
            case .end:
                guard let head, let standIn = standIn() else { return }
                let headers = Dictionary(head.headers.map { ($0.name.lowercased(), $0.value) }) { $1 }
                answer(context, standIn.take(Request(path: head.uri, headers: headers, body: body)))
            }
        }

        private func answer(_ context: ChannelHandlerContext, _ answer: Answer) {
            switch answer {
            case .silence: break
            case .says(let status, let text, let headers):
                var fields = HTTPHeaders(headers.map { ($0.key, $0.value) })
                fields.add(name: "content-length", value: "\(text.utf8.count)")
                let head = HTTPResponseHead(
                    version: .http2, status: HTTPResponseStatus(statusCode: status), headers: fields)
                context.write(wrapOutboundOut(.head(head)), promise: nil)
                context.write(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: text)))), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.end(nil)), promise: nil)
            case .half:
                let head = HTTPResponseHead(version: .http2, status: .ok, headers: ["content-length": "100"])
                context.write(wrapOutboundOut(.head(head)), promise: nil)
                context.writeAndFlush(wrapOutboundOut(.body(.byteBuffer(ByteBuffer(string: "{"))))).whenComplete {
                    [channel = context.channel] _ in channel.parent?.close(promise: nil)
                }
            }
        }
    }
}
