internal import EventLoops
import LineServer
import Messaging
import NIOCore
import NIOHTTP1
import NIOPosix

/// How an answer goes out.
extension HTTPConnection {
    /// How much of an answer is handed to the socket at once, or compressed at once, in bytes.
    private static let pieceBytes = 1 << 16

    /// The largest piece of a file that is read at once, in bytes.
    private static let filePieceBytes = 4 * pieceBytes

    func finish(_ answer: HTTPAnswer, _ id: RequestID) {
        guard case .atWork(let head) = phase, id.number == requests else { return }
        work = nil
        if let change = answer.takeOver { return takeOver(answer, change) }
        write(answer, to: head)
    }

    private func write(_ answer: HTTPAnswer, to request: HTTPRequestHead) {
        phase = .writing
        hold(answer)
        guard let context else { return }
        var body = answer.body
        var head = HTTPResponseHead(version: .http1_1, status: answer.status, headers: answer.headers)
        var compression: Compression?
        if answer.file == nil, body.readableBytes >= ContentCoding.minBytes {
            head.headers.add(name: "Vary", value: "Accept-Encoding")
            let isWhole = body.readableBytes <= Self.pieceBytes
            if request.method != .HEAD, let coding = ContentCoding(acceptedBy: request.headers),
                // HTTP/1.0 has no chunks.
                isWhole || request.version != .http1_0
            {
                compression = Compression(coding)
                if compression != nil { head.headers.replaceOrAdd(name: "Content-Encoding", value: coding.rawValue) }
            }
        }
        // A small body is compressed here; a large one in pieces on another thread, with a length that is not known yet.
        if let small = compression, body.readableBytes <= Self.pieceBytes {
            body = small.compress(body, isLast: true)
            compression = nil
        }
        head.headers.replaceOrAdd(name: "Connection", value: keepsAlive ? "keep-alive" : "close")
        if compression != nil {
            head.headers.remove(name: "Content-Length")
            head.headers.replaceOrAdd(name: "Transfer-Encoding", value: "chunked")
        } else if answer.status.mayHaveResponseBody {
            head.headers.replaceOrAdd(name: "Content-Length", value: String(answer.file?.length ?? body.readableBytes))
        }
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        if request.method == .HEAD { return send(ByteBuffer()) }
        if let file = answer.file { return send(file, from: 0) }
        if let compression { return send(body, by: compression) }
        send(body)
    }

    /// Counts what the node holds of a large answer. That may close the connection.
    private func hold(_ answer: HTTPAnswer) {
        let bytes = answer.file.map { min($0.length, Self.filePieceBytes) } ?? answer.body.readableBytes
        guard bytes > Self.pieceBytes, let channel = context?.channel else { return }
        for _ in 0..<connections.holds(bytes, for: channel) { server.lines?.overloaded() }
    }

    /// Writes what is left of a file, as fast as the client takes it.
    private func send(_ file: HTTPFile, from offset: Int) {
        guard let context else { return }
        guard offset < file.length else { return endAnswer() }
        expire(after: bounds.writeTimeout) { $0.cut() }
        NIOThreadPool.singleton.runIfActive(eventLoop: context.eventLoop) {
            try file.bytes(from: offset, count: min(Self.filePieceBytes, file.length - offset))
        }.assumeIsolated().whenComplete { result in
            // One that cannot be read to its end ends with the connection.
            guard case .success(let bytes) = result, bytes.readableBytes > 0 else { return self.cut() }
            self.write(bytes) { $0.send(file, from: offset + bytes.readableBytes) }
        }
    }

    /// Compresses what is left of an answer on another thread, and writes it as fast as the client takes it.
    private func send(_ rest: ByteBuffer, by compression: Compression) {
        guard let context else { return }
        var rest = rest
        let piece = rest.readSlice(length: min(Self.pieceBytes, rest.readableBytes)) ?? ByteBuffer()
        let left = rest
        expire(after: bounds.writeTimeout) { $0.cut() }
        NIOThreadPool.singleton.runIfActive(eventLoop: context.eventLoop) {
            compression.compress(piece, isLast: left.readableBytes == 0)
        }.assumeIsolated().whenComplete { result in
            guard case .success(let bytes) = result else { return self.cut() }
            self.write(bytes) { connection in
                if left.readableBytes > 0 {
                    connection.send(left, by: compression)
                } else {
                    connection.endAnswer()
                }
            }
        }
    }

    /// Writes what is left of an answer, as fast as the client takes it. The next request comes once all of it is with the
    /// kernel, so that a client that reads nothing is answered once.
    private func send(_ rest: ByteBuffer) {
        var rest = rest
        let piece = rest.readSlice(length: min(Self.pieceBytes, rest.readableBytes)) ?? ByteBuffer()
        let left = rest
        write(piece) { connection in
            if left.readableBytes > 0 { connection.send(left) } else { connection.endAnswer() }
        }
    }

    /// Writes a piece of an answer, and goes on once the client has made room for it.
    private func write(_ piece: ByteBuffer, then next: @escaping (HTTPConnection) -> Void) {
        guard let context else { return }
        expire(after: bounds.writeTimeout) { $0.cut() }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenSuccess { next(self) }
        context.writeAndFlush(Self.wrapOutboundOut(.body(.byteBuffer(piece))), promise: written)
    }

    private func endAnswer() {
        guard let context else { return }
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenSuccess { self.isWritten() }
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: written)
    }

    private func isWritten() {
        guard let context, case .writing = phase else { return }
        connections.answered(context.channel)
        guard keepsAlive else { return leave() }
        phase = .idle
        expire(after: bounds.idleTimeout) { $0.cut() }
        guard decoding.hasBegunRequest else { return decoding.resume() }
        // The next request has come before this one was answered. It may cost as much as many lines.
        TurnBudget.of(context.eventLoop).begin(cost: TurnBudget.whole) { self.decoding.resume() }
    }

    /// Answers, and closes: what the client sends is not understood, or not wanted.
    func refuse(_ refusal: HTTPRefusal) {
        let answer = conversation.answer(refusal, of: phase.head?.headers ?? [:])
        discardBody()
        setReading(true)
        var headers = answer.headers
        headers.replaceOrAdd(name: "Content-Length", value: String(answer.body.readableBytes))
        headers.replaceOrAdd(name: "Connection", value: "close")
        writeRaw(HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers), answer.body)
        leave()
    }

    func refuse(_ status: HTTPResponseStatus, _ why: String) { refuse(HTTPRefusal(status, why)) }

    /// The client has its time to read the last answer before the connection is gone.
    private func leave() {
        phase = .leaving
        decoding.discard()
        context?.close(mode: .output, promise: nil)
        // Reads that were held back while the request was at work.
        context?.read()
        expire(after: bounds.lingerTimeout) { $0.cut() }
    }

    /// Writes a head past the handler that expects one answer to each request.
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

    /// Makes of the connection one of another protocol, whose handlers get what came behind the request.
    private func takeOver(_ answer: HTTPAnswer, _ change: (any Channel, AdmissionSlot) throws -> Void) {
        guard let context, let slot else { return cut() }
        let channel = context.channel
        self.slot = nil
        do {
            try channel.syncOptions?.setOption(.autoRead, value: false)
            writeRaw(HTTPResponseHead(version: .http1_1, status: answer.status, headers: answer.headers))
            let pipeline = channel.pipeline.syncOperations
            decoding.allowReads()
            _ = pipeline.removeHandler(encoding)
            _ = pipeline.removeHandler(self)
            try change(channel, slot)
            decoding.leave()
        } catch {
            slot.release()
            channel.close(promise: nil)
        }
    }
}
