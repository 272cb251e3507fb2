import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// An upload to a URL of the server's picture store, over HTTP/1.1 on a separate connection.
enum Upload {
    /// Uploads bytes and returns the status of the response.
    ///
    /// - Throws: ``PostlineError``, `offline`, also after a minute without traffic.
    static func put(_ bytes: Data, to url: URL, headers: [String: String]) async throws -> Int {
        guard let host = url.host(), let scheme = url.scheme else {
            throw PostlineError(.malformedAnswer, "The server sent no valid URL for the upload.")
        }
        var head = HTTPRequestHead(version: .http1_1, method: .PUT, uri: target(of: url))
        head.headers.add(name: "Host", value: url.port.map { "\(host):\($0)" } ?? host)
        head.headers.add(name: "Connection", value: "close")
        head.headers.add(name: "Content-Length", value: "\(bytes.count)")
        for (name, value) in headers where name.lowercased() != "content-length" {
            head.headers.add(name: name, value: value)
        }
        do {
            let loop = MultiThreadedEventLoopGroup.singleton.any()
            let status = loop.makePromise(of: Int.self)
            let context = scheme == "https" ? try NIOSSLContext(configuration: .makeClientConfiguration()) : nil
            let channel = try await ClientBootstrap(group: loop)
                .connectTimeout(.seconds(15))
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        if let context {
                            let name = (try? SocketAddress(ipAddress: host, port: 0)) == nil ? host : nil
                            try pipeline.addHandler(NIOSSLClientHandler(context: context, serverHostname: name))
                        }
                        try pipeline.addHTTPClientHandlers()
                        try pipeline.addHandler(IdleStateHandler(allTimeout: .seconds(60)))
                        try pipeline.addHandler(StatusReader(status))
                    }
                }
                .connect(host: host, port: url.port ?? (scheme == "https" ? 443 : 80)).get()
            // An error of the writes fails the response too.
            channel.write(HTTPClientRequestPart.head(head), promise: nil)
            channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: bytes))), promise: nil)
            channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
            return try await status.futureResult.get()
        } catch {
            throw PostlineError(.offline, "The picture could not be uploaded: \(error)", isRetryable: true)
        }
    }

    /// Returns the path and query exactly as the URL has them.
    private static func target(of url: URL) -> String {
        let text = url.absoluteString
        guard let authority = text.range(of: "://")?.upperBound,
            let slash = text[authority...].firstIndex(of: "/")
        else { return "/" }
        return String(text[slash...].prefix { $0 != "#" })
    }

    private final class StatusReader: ChannelInboundHandler {
        typealias InboundIn = HTTPClientResponsePart

        private let status: EventLoopPromise<Int>

        init(_ status: EventLoopPromise<Int>) { self.status = status }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            guard case .head(let head) = unwrapInboundIn(data), head.status != .continue else { return }
            status.succeed(Int(head.status.code))
            context.close(promise: nil)
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) {
            status.fail(error)
            context.close(promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { status.fail(ChannelError.eof) }
    }
}
