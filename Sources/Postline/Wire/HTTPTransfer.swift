import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// Uploads to and downloads from a store of files, over HTTP/1.1 on a separate connection. A cancellation of the task
/// closes the connection.
enum HTTPTransfer {
    /// A response. The body is empty unless it was to be read into memory.
    struct Response: Sendable {
        var status: Int
        var location: String?
        /// The number of bytes of an upload that have arrived.
        var uploadOffset: Int?
        var isUploadComplete = false
        var body = Data()
    }

    /// Uploads a file from a byte on, or a part of it that has a URL of its own, and returns the response.
    ///
    /// - Parameters:
    ///   - end: The end of such a part.
    ///   - progress: Called with the uploaded part of the whole file.
    /// - Throws: ``PostlineError``: `offline`, also after a minute without traffic; `invalid_params` if the file cannot
    ///   be read.
    static func put(
        _ content: FileContent, from offset: Int = 0, upTo end: Int? = nil, to url: URL, headers: [String: String],
        progress: @escaping @Sendable (TransferProgress) -> Void = { _ in }
    ) async throws -> Response {
        let body = try UploadBody(content, from: offset, to: end)
        defer { body.close() }
        var headers = headers
        if offset > 0, end == nil { headers["Content-Range"] = "bytes \(offset)-\(body.end - 1)/\(body.end)" }
        return try await exchange(.PUT, url, headers, body: body, reading: .head, progress)
    }

    /// Returns the state of an upload.
    ///
    /// - Throws: ``PostlineError``, `offline`.
    static func head(_ url: URL) async throws -> Response {
        try await exchange(.HEAD, url, [:], body: nil, reading: .head) { _ in }
    }

    /// Downloads a file, and follows at most three redirections.
    ///
    /// - Parameter destination: The place for the body of a successful response.
    /// - Throws: ``PostlineError``: `offline`, also after a minute without traffic; `invalid_params` for a file that is
    ///   larger than the destination permits.
    static func get(
        _ url: URL, into destination: ResponseReader.Destination,
        progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> Response {
        var url = url
        var headers: [String: String] = [:]
        if case .file(let file) = destination { headers = file.rangeHeaders }
        for _ in 0..<3 {
            let response = try await exchange(.GET, url, headers, body: nil, reading: destination, progress)
            guard 301...308 ~= response.status, let location = response.location,
                let next = URL(string: location, relativeTo: url)?.absoluteURL,
                next.scheme == "https" || next.scheme == url.scheme
            else { return response }
            url = next
        }
        throw PostlineError(.unavailable, "The file's URL is redirected more than three times.", isRetryable: true)
    }

    private static func exchange(
        _ method: HTTPMethod, _ url: URL, _ headers: [String: String], body: UploadBody?,
        reading destination: ResponseReader.Destination, _ progress: @escaping @Sendable (TransferProgress) -> Void
    ) async throws -> Response {
        guard let host = url.host(), let scheme = url.scheme, ["http", "https"].contains(scheme) else {
            throw PostlineError(.malformedAnswer, "The URL of the file is not valid: it needs a host and https.")
        }
        try Task.checkCancellation()
        var head = HTTPRequestHead(version: .http1_1, method: method, uri: target(of: url))
        head.headers.add(name: "Host", value: url.port.map { "\(host):\($0)" } ?? host)
        head.headers.add(name: "Connection", value: "close")
        if let body { head.headers.add(name: "Content-Length", value: "\(body.end - body.offset)") }
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
                    try channel.pipeline.syncOperations.addHandler(ResponseReader(response, destination, progress))
                    // An error of the writes closes the channel, which fails the response.
                    channel.write(HTTPClientRequestPart.head(head), promise: nil)
                    if let body {
                        write(body, from: body.offset, to: channel, response, progress)
                    } else {
                        channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
                    }
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
            throw PostlineError(.offline, "The file could not be transferred: \(error)", isRetryable: true)
        }
    }

    /// Writes the body in parts, each once the previous one is written.
    private static func write(
        _ body: UploadBody, from offset: Int, to channel: any Channel, _ response: EventLoopPromise<Response>,
        _ progress: @escaping @Sendable (TransferProgress) -> Void
    ) {
        guard offset < body.end else { return channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil) }
        let written = body.part(at: offset, on: channel.eventLoop).flatMap { part in
            channel.writeAndFlush(HTTPClientRequestPart.body(.byteBuffer(part))).map { part.readableBytes }
        }
        written.whenSuccess { count in
            progress(TransferProgress(completedBytes: offset + count, totalBytes: body.total))
            write(body, from: offset + count, to: channel, response, progress)
        }
        written.whenFailure { error in
            // The file could not be read. Otherwise the channel is closed already.
            guard error is PostlineError else { return }
            response.fail(error)
            channel.close(promise: nil)
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
}
