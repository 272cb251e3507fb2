import Concurrency
import DatabaseAccess
import Foundations
import LineServer
import NIOCore
import NIOHTTP1
import NIOPosix

/// Sending responses.
extension HTTPConnection {
    /// The bytes of a response that are written to the socket, or compressed, in one step.
    private static let pieceBytes = 1 << 16

    /// The largest piece of a file that is read in one step, in bytes.
    private static let filePieceBytes = 4 * pieceBytes

    func send(_ response: HTTPResponse, to id: RequestID) {
        guard case .processing(let head) = phase, id.number == requestCount else { return }
        requestTask = nil
        if let upgrade = response.upgrade { return switchProtocols(response, upgrade) }
        write(response, to: head)
    }

    private func write(_ response: HTTPResponse, to request: HTTPRequestHead) {
        phase = .writing
        trackUnwritten(response)
        guard let context else { return }
        var body = response.body
        var head = HTTPResponseHead(version: .http1_1, status: response.status, headers: response.headers)
        var compression: Compression?
        if response.file == nil, body.readableBytes >= ContentCoding.minBytes {
            head.headers.add(name: "Vary", value: "Accept-Encoding")
            let isWhole = body.readableBytes <= Self.pieceBytes
            let isCompressed = response.headers.contains(name: "Content-Encoding")
            if !isCompressed, request.method != .HEAD, let coding = ContentCoding(acceptedBy: request.headers),
                // HTTP/1.0 has no chunks.
                isWhole || request.version != .http1_0
            {
                compression = Compression(coding)
                if compression != nil { head.headers.replaceOrAdd(name: "Content-Encoding", value: coding.rawValue) }
            }
        }
        // A small body is compressed here. A large one is compressed in pieces on another thread and sent in chunks, since
        // its length is not known yet.
        if let small = compression, body.readableBytes <= Self.pieceBytes {
            body = small.compress(body, isLast: true)
            compression = nil
        }
        head.headers.replaceOrAdd(name: "Connection", value: keepsAlive ? "keep-alive" : "close")
        if compression != nil {
            head.headers.remove(name: "Content-Length")
            head.headers.replaceOrAdd(name: "Transfer-Encoding", value: "chunked")
        } else if response.status.mayHaveResponseBody {
            head.headers.replaceOrAdd(
                name: "Content-Length", value: String(response.fileLength ?? body.readableBytes))
        }
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        if request.method == .HEAD { return send(ByteBuffer()) }
        if let file = response.file {
            return send(file, response.fileRange ?? 0..<file.length, to: clientAddress(of: request))
        }
        if let compression { return send(body, by: compression) }
        send(body)
    }

    /// Counts the buffered bytes of a large response. This may close connections, including this one.
    private func trackUnwritten(_ response: HTTPResponse) {
        let bytes = response.fileLength.map { min($0, Self.filePieceBytes) } ?? response.body.readableBytes
        guard bytes > Self.pieceBytes, let channel = context?.channel else { return }
        let closed = connections.trackUnwritten(bytes, for: channel, of: AddressKey(peerAddress))
        for _ in 0..<closed { server.lineServer?.overloaded() }
    }

    /// Writes the rest of a file or a part of one, as fast as the client reads it and the rate of all downloads permits.
    /// A small one is not delayed.
    private func send(_ file: HTTPFile, _ rest: Range<Int>, isFirst: Bool = true, to address: AddressKey) {
        guard let context else { return }
        guard !rest.isEmpty else { return endResponse() }
        if !isFirst { connections.responseProgressed(context.channel) }
        setDeadline(after: bounds.writeTimeout) { $0.closeNow() }
        NIOThreadPool.singleton.runIfActive(eventLoop: context.eventLoop) {
            try file.bytes(from: rest.lowerBound, count: min(Self.filePieceBytes, rest.count))
        }.assumeIsolated().whenComplete { result in
            // A read error can no longer be reported: the head has been sent.
            guard case .success(let bytes) = result, bytes.readableBytes > 0 else { return self.closeNow() }
            self.write(bytes) { connection in
                let left = rest.dropFirst(bytes.readableBytes)
                let delay = connection.server.downloadRateGuard.delay(after: bytes.readableBytes, of: address)
                guard !left.isEmpty, delay >= .milliseconds(1) else {
                    return connection.send(file, left, isFirst: false, to: address)
                }
                connection.setDeadline(after: delay) { $0.send(file, left, isFirst: false, to: address) }
            }
        }
    }

    /// Compresses the rest of a response on another thread, and writes it as fast as the client reads it.
    private func send(_ rest: ByteBuffer, by compression: Compression) {
        guard let context else { return }
        var rest = rest
        let piece = rest.readSlice(length: min(Self.pieceBytes, rest.readableBytes)) ?? ByteBuffer()
        let left = rest
        setDeadline(after: bounds.writeTimeout) { $0.closeNow() }
        NIOThreadPool.singleton.runIfActive(eventLoop: context.eventLoop) {
            compression.compress(piece, isLast: left.readableBytes == 0)
        }.assumeIsolated().whenComplete { result in
            guard case .success(let bytes) = result else { return self.closeNow() }
            self.write(bytes) { connection in
                if left.readableBytes > 0 {
                    connection.connections.responseProgressed(context.channel)
                    connection.send(left, by: compression)
                } else {
                    connection.endResponse()
                }
            }
        }
    }

    /// Writes the rest of a response, as fast as the client reads it. The next request is read only when the kernel has
    /// the whole response, so a client that does not read gets one response.
    private func send(_ rest: ByteBuffer) {
        var rest = rest
        let piece = rest.readSlice(length: min(Self.pieceBytes, rest.readableBytes)) ?? ByteBuffer()
        let left = rest
        write(piece) { connection in
            guard left.readableBytes > 0, let context = connection.context else { return connection.endResponse() }
            connection.connections.responseProgressed(context.channel)
            connection.send(left)
        }
    }

    /// Writes a piece of a response, and continues once the kernel has it.
    private func write(_ piece: ByteBuffer, then next: @escaping (HTTPConnection) -> Void) {
        guard let context else { return }
        setDeadline(after: bounds.writeTimeout) { $0.closeNow() }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenSuccess { next(self) }
        context.writeAndFlush(Self.wrapOutboundOut(.body(.byteBuffer(piece))), promise: written)
    }

    private func endResponse() {
        guard let context else { return }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenSuccess { self.responseWritten() }
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: written)
    }

    private func responseWritten() {
        guard let context, case .writing = phase else { return }
        connections.responseWritten(context.channel)
        guard keepsAlive else { return linger() }
        phase = .idle
        setDeadline(after: bounds.idleTimeout) { $0.closeNow() }
        guard decoding.hasBegunRequest else { return decoding.resume() }
        // The client has pipelined its next request, which may cost as much as many lines.
        TurnBudget.of(context.eventLoop).begin(cost: TurnBudget.whole, of: AddressKey(peerAddress)) {
            self.decoding.resume()
            return self.context != nil
        }
    }

    /// Sends an error response and closes the connection.
    func reject(_ error: HTTPError) {
        let response = handler.errorResponse(for: error, headers: phase.head?.headers ?? [:])
        discardBody()
        setReading(true)
        var headers = response.headers
        headers.replaceOrAdd(name: "Content-Length", value: String(response.body.readableBytes))
        headers.replaceOrAdd(name: "Connection", value: "close")
        writeRaw(HTTPResponseHead(version: .http1_1, status: response.status, headers: headers), response.body)
        linger()
    }

    func reject(_ status: HTTPResponseStatus, _ message: String) { reject(HTTPError(status, message)) }

    /// Begins a lingering close, which lets the client read the last response.
    private func linger() {
        phase = .lingering
        decoding.discard()
        context?.close(mode: .output, promise: nil)
        // Issues the read that was held back while the request was processed.
        context?.read()
        setDeadline(after: bounds.lingerTimeout) { $0.closeNow() }
    }

    /// Writes a head directly to the socket, since the response encoder expects exactly one response for each request.
    func writeRaw(_ head: HTTPResponseHead, _ body: ByteBuffer = ByteBuffer()) {
        guard let encoder = try? context?.pipeline.syncOperations.context(handler: encoding) else { return }
        encoder.writeAndFlush(NIOAny(Self.bytes(of: head, body)), promise: nil)
    }

    private static func bytes(of head: HTTPResponseHead, _ body: ByteBuffer) -> ByteBuffer {
        var bytes = ByteBuffer(string: "HTTP/1.1 \(head.status.code) \(head.status.reasonPhrase)\r\n")
        for (name, value) in head.headers { bytes.writeString("\(name): \(value)\r\n") }
        bytes.writeString("\r\n")
        bytes.writeImmutableBuffer(body)
        return bytes
    }

    /// Switches the connection to another protocol, whose channel handlers get the bytes that followed the request.
    private func switchProtocols(
        _ response: HTTPResponse, _ upgrade: (any Channel, AdmissionSlot) throws -> Void
    ) {
        guard let context, let slot else { return closeNow() }
        let channel = context.channel
        self.slot = nil
        do {
            try channel.syncOptions?.setOption(.autoRead, value: false)
            writeRaw(HTTPResponseHead(version: .http1_1, status: response.status, headers: response.headers))
            let pipeline = channel.pipeline.syncOperations
            decoding.allowReads()
            _ = pipeline.removeHandler(encoding)
            _ = pipeline.removeHandler(self)
            try upgrade(channel, slot)
            decoding.removeFromPipeline()
        } catch {
            slot.release()
            channel.close(promise: nil)
        }
    }
}
