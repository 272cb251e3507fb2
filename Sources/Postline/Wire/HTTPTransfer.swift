import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Uploads to and downloads from a picture store, over HTTP/1.1 on a separate connection. A cancellation of the task
/// closes the connection.
enum HTTPTransfer {
    /// A response. The body is empty unless it is a picture.
    struct Response: Sendable {
        var status: Int
        var location: String?
        var body = Data()
    }

    /// Uploads bytes and returns the status of the response.
    ///
    /// - Throws: ``PostlineError``, `offline`, also after a minute without traffic.
    static func put(
        _ bytes: Data, to url: URL, headers: [String: String],
        progress: @escaping @Sendable (PictureProgress) -> Void = { _ in }
    ) async throws -> Int {
        try await exchange(.PUT, url, headers, body: bytes, maxBytes: 0, progress).status
    }

    /// Downloads a picture, and follows at most three redirections.
    ///
    /// - Throws: ``PostlineError``: `offline`, also after a minute without traffic; `invalid_params` for a picture of
    ///   more than `maxBytes`.
    static func get(
        _ url: URL, maxBytes: Int, progress: @escaping @Sendable (PictureProgress) -> Void
    ) async throws -> Response {
        var url = url
        for _ in 0..<3 {
            let response = try await exchange(.GET, url, [:], body: nil, maxBytes: maxBytes, progress)
            guard 301...308 ~= response.status, let location = response.location,
                let next = URL(string: location, relativeTo: url)?.absoluteURL,
                next.scheme == "https" || next.scheme == url.scheme
            else { return response }
            url = next
        }
        throw PostlineError(.unavailable, "The picture's URL is redirected more than three times.", isRetryable: true)
    }

    private static func exchange(
        _ method: HTTPMethod, _ url: URL, _ headers: [String: String], body: Data?, maxBytes: Int,
        _ progress: @escaping @Sendable (PictureProgress) -> Void
    ) async throws -> Response {
        guard let host = url.host(), let scheme = url.scheme, ["http", "https"].contains(scheme) else {
            throw PostlineError(.malformedAnswer, "The URL of the picture is not valid: it needs a host and https.")
        }
        try Task.checkCancellation()
        var head = HTTPRequestHead(version: .http1_1, method: method, uri: target(of: url))
        head.headers.add(name: "Host", value: url.port.map { "\(host):\($0)" } ?? host)
        head.headers.add(name: "Connection", value: "close")
        if let body { head.headers.add(name: "Content-Length", value: "\(body.count)") }
        for (name, value) in headers where name.lowercased() != "content-length" {
            head.headers.add(name: name, value: value)
        }
        let loop = MultiThreadedEventLoopGroup.singleton.any()
        let response = loop.makePromise(of: Response.self)
        do {
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
                    }
                }
                .connect(host: host, port: url.port ?? (scheme == "https" ? 443 : 80)).get()
            return try await withTaskCancellationHandler {
                try await channel.eventLoop.submit { [head] in
                    guard channel.isActive else { throw ChannelError.eof }
                    try channel.pipeline.syncOperations.addHandler(
                        ResponseReader(response, readsBody: method == .GET, maxBytes: maxBytes, progress))
                    // An error of the writes closes the channel, which fails the response.
                    channel.write(HTTPClientRequestPart.head(head), promise: nil)
                    write(body ?? Data(), from: 0, to: channel, progress)
                }.get()
                return try await response.futureResult.get()
            } onCancel: {
                channel.close(promise: nil)
            }
        } catch {
            // The promise may not have reached its handler.
            response.fail(error)
            if let error = error as? PostlineError { throw error }
            try Task.checkCancellation()
            throw PostlineError(.offline, "The picture could not be transferred: \(error)", isRetryable: true)
        }
    }

    /// Writes the body in parts of 64 KiB, each once the previous one is written.
    private static func write(
        _ body: Data, from offset: Int, to channel: any Channel,
        _ progress: @escaping @Sendable (PictureProgress) -> Void
    ) {
        guard offset < body.count else { return channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil) }
        let end = min(offset + 65_536, body.count)
        let part = ByteBuffer(bytes: body.dropFirst(offset).prefix(end - offset))
        channel.writeAndFlush(HTTPClientRequestPart.body(.byteBuffer(part))).whenSuccess {
            progress(PictureProgress(completedBytes: end, totalBytes: body.count))
            write(body, from: end, to: channel, progress)
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

    private final class ResponseReader: ChannelInboundHandler {
        typealias InboundIn = HTTPClientResponsePart

        private let promise: EventLoopPromise<Response>
        private let readsBody: Bool
        private let maxBytes: Int
        private let progress: @Sendable (PictureProgress) -> Void
        private var response = Response(status: 0)
        private var totalBytes: Int?

        init(
            _ promise: EventLoopPromise<Response>, readsBody: Bool, maxBytes: Int,
            _ progress: @escaping @Sendable (PictureProgress) -> Void
        ) {
            self.promise = promise
            self.readsBody = readsBody
            self.maxBytes = maxBytes
            self.progress = progress
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            switch unwrapInboundIn(data) {
            case .head(let head) where head.status.code >= 200:
                response.status = Int(head.status.code)
                response.location = head.headers.first(name: "Location")
                totalBytes = head.headers.first(name: "Content-Length").flatMap { Int($0) }
                if !readsBody || response.status >= 300 { return finish(context) }
                if let totalBytes, totalBytes > maxBytes { fail(tooLarge, context) }
            case .head: break
            case .body(let part):
                response.body.append(contentsOf: part.readableBytesView)
                if response.body.count > maxBytes { return fail(tooLarge, context) }
                progress(PictureProgress(completedBytes: response.body.count, totalBytes: totalBytes))
            case .end where response.status >= 200: finish(context)
            case .end: break
            }
        }

        private var tooLarge: PostlineError {
            PostlineError(.invalidParams, "The picture has more than \(maxBytes) bytes.", field: "picture")
        }

        private func finish(_ context: ChannelHandlerContext) {
            promise.succeed(response)
            context.close(promise: nil)
        }

        private func fail(_ error: any Error, _ context: ChannelHandlerContext) {
            promise.fail(error)
            context.close(promise: nil)
        }

        func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
            if event is IdleStateHandler.IdleStateEvent { context.close(promise: nil) }
        }

        func errorCaught(context: ChannelHandlerContext, error: any Error) { fail(error, context) }

        func channelInactive(context: ChannelHandlerContext) { promise.fail(ChannelError.eof) }
    }
}
