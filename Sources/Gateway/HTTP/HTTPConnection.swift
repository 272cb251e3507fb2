internal import EventLoops
import LineServer
import Messaging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import NIOTLS

/// One connection on its event loop: takes requests one after another, has each answered, and writes the answer.
///
/// Every wait has its end: for a head, for a body, for the answer, for the client to take it, and for the next request.
final class HTTPConnection: ChannelInboundHandler, RemovableChannelHandler, ProxiedConnection {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let server: HTTPServer
    private let connections: HTTPConnections
    private let conversation: any HTTPConversation
    private let loop: LoopActor

    /// Nil where the server shares its bounds with none.
    private var place: ConnectionPlace?

    /// What makes requests of bytes, and bytes of answers: the handlers before this.
    private let coding: [any RemovableChannelHandler]
    private let socketAddress: String
    private var context: ChannelHandlerContext?
    private var phase = HTTPPhase.awaitingHead

    /// How many requests were taken.
    private var requests = 0
    private var work: Task<Void, Never>?

    /// Whether another request may follow the one at work.
    private var keepsAlive = true
    private var deadline: Scheduled<Void>?

    init(
        server: HTTPServer, connections: HTTPConnections, place: ConnectionPlace?, socketAddress: String,
        coding: [any RemovableChannelHandler], loop: any EventLoop
    ) {
        self.server = server
        self.connections = connections
        self.place = place
        self.socketAddress = socketAddress
        self.coding = coding
        let executor = LoopExecutor(loop)
        self.loop = LoopActor(executor)
        conversation = server.converse(executor)
    }

    private var bounds: HTTPBounds { server.configuration.bounds }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        connections.opened(context.channel)
        expire(after: bounds.headTimeout) { $0.cut() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (Self.unwrapInboundIn(data), phase) {
        case (.head(let head), .idle), (.head(let head), .awaitingHead): begin(head)
        case (.body(let bytes), .receiving(let head, var body)):
            guard body.readableBytes + bytes.readableBytes <= bounds.maxBodyBytes else { return refuseLargeBody() }
            // Not held twice while it grows.
            phase = .receiving(head, ByteBuffer())
            body.writeImmutableBuffer(bytes)
            phase = .receiving(head, body)
        case (.end, .receiving(let head, let body)): take(head, body)
        case (.body(let bytes), .passingOn(_, let body, let end)):
            body.take(bytes)
            awaitMore(of: body, until: end)
        case (.end, .passingOn(_, let body, _)):
            body.end()
            proceed(with: body)
        default: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        // Something of a head has come.
        if case .idle = phase {
            phase = .awaitingHead
            expire(after: bounds.headTimeout) { $0.refuse(.requestTimeout, "The request's head took too long.") }
        }
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch (event, phase) {
        case (ChannelEvent.inputClosed, .atWork), (ChannelEvent.inputClosed, .writing): keepsAlive = false
        case (ChannelEvent.inputClosed, _): cut()
        case (is HTTPConnections.StopEvent, .idle), (is HTTPConnections.StopEvent, .awaitingHead): cut()
        case (is HTTPConnections.StopEvent, _): keepsAlive = false
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch (error, phase) {
        case (is HTTPParserError, .idle), (is HTTPParserError, .awaitingHead), (is HTTPParserError, .receiving),
            (is HTTPParserError, .passingOn):
            if case .headerOverflow? = error as? HTTPParserError {
                refuse(.requestHeaderFieldsTooLarge, "A request's head has at most \(bounds.maxHeadBytes) bytes.")
            } else {
                refuse(.badRequest, "This is no HTTP request, and lines have a port of their own.")
            }
        // What comes behind the last request is of no account.
        case (is HTTPParserError, .writing), (is HTTPParserError, .leaving): break
        default:
            // The client ended its side without TLS's own end, which the channel tells in a moment.
            if case .uncleanShutdown? = error as? NIOSSLError { return }
            cut()
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }
}

extension HTTPConnection {
    /// A balancer has told where the client is.
    func comes(from address: String?) {
        place?.locate(at: address ?? socketAddress)
        if place?.isDropped == true { cut() }
    }

    func isNotOpened(_ reason: String) {
        place?.failedToOpen(reason)
        cut()
    }

    /// Lets this happen after that time, unless something else happens before. It replaces the last that was said.
    private func expire(after time: TimeAmount, _ body: @escaping (HTTPConnection) -> Void) {
        deadline?.cancel()
        deadline = context?.eventLoop.assumeIsolated().scheduleTask(in: time) { body(self) }
    }

    private func cut() { context?.close(promise: nil) }
    private func end() {
        if case .closed = phase { return }
        discardBody()
        phase = .closed
        deadline?.cancel()
        deadline = nil
        // What was asked is done, whoever asked is gone; but the server ends in its time.
        let work = self.work
        if connections.isStopping { work?.cancel() }
        place?.leave()
        place = nil
        if let channel = context?.channel { connections.closed(channel) }
        context = nil
        let (conversation, connections) = (conversation, connections)
        // The server does not end before this has.
        loop.assumeIsolated { loop in
            _ = loop.begin { _ in
                await work?.value
                await conversation.close()
                connections.left()
            }
        }
    }
}

/// How a request comes in.
extension HTTPConnection {
    private func begin(_ head: HTTPRequestHead) {
        keepsAlive = head.isKeepAlive && !head.endsHTTP && !connections.isStopping
        phase = .receiving(head, ByteBuffer())
        if let refusal = place?.refusal { return refuse(.serviceUnavailable, refusal.message) }
        if let flaw = head.flaw { return refuse(.badRequest, flaw) }
        let length = head.headers.first(name: "Content-Length").map { Int($0) ?? .max }
        do throws(HTTPRefusal) {
            if let receiver = try conversation.receiver(of: head), let loop = context?.eventLoop {
                let body = HTTPBodyInFlight(receiver, on: loop, pace: server.pace) { [weak self] in
                    self?.proceed(with: $0)
                }
                let end = NIODeadline.now() + bounds.largeBodyTimeout
                phase = .passingOn(head, body, until: end)
                awaitMore(of: body, until: end)
            } else {
                if let length, length > bounds.maxBodyBytes { return refuseLargeBody() }
                expire(after: bounds.bodyTimeout) { $0.refuse(.requestTimeout, "The request's body took too long.") }
            }
        } catch {
            return refuse(error.status, error.why)
        }
        if head.version != .http1_0, length != 0, head.headers.first(name: "Expect")?.lowercased() == "100-continue" {
            writeRaw(HTTPResponseHead(version: .http1_1, status: .continue))
        }
    }

    /// The next bytes of a body that is not held have their time, for as long as they are wanted.
    private func awaitMore(of body: HTTPBodyInFlight, until end: NIODeadline) {
        setReading(body.takesMore)
        let left = end - .now()
        expire(after: body.takesMore && !body.isWhole ? min(bounds.bodySilence, left) : left) {
            $0.refuse(.requestTimeout, "The request's body took too long.")
        }
    }

    /// The receiver has taken some of the body.
    private func proceed(with body: HTTPBodyInFlight) {
        guard case .passingOn(let head, let current, let end) = phase, current === body else { return }
        if body.failure != nil { return refuse(.serviceUnavailable, "This cannot be kept now. Try again.") }
        guard body.isTaken else { return awaitMore(of: body, until: end) }
        setReading(true)
        take(head, ByteBuffer(), body.receiver)
    }

    private func setReading(_ isReading: Bool) {
        try? context?.channel.syncOptions?.setOption(.autoRead, value: isReading)
    }

    private func discardBody() {
        if case .passingOn(_, let body, _) = phase { body.discard() }
    }

    private func refuseLargeBody() {
        refuse(.payloadTooLarge, "A request's body has at most \(bounds.maxBodyBytes) bytes.")
    }

    private func take(_ head: HTTPRequestHead, _ body: ByteBuffer, _ receiver: (any HTTPBodyReceiver)? = nil) {
        guard let target = RequestTarget(head.uri) else {
            return refuse(.badRequest, "A request's target is a path, with UTF-8 in its escapes.")
        }
        requests += 1
        let request = HTTPRequest(
            method: head.method, target: target, headers: head.headers, body: body, receiver: receiver,
            peerAddress: place?.peerAddress ?? socketAddress,
            id: RequestID(connection: place?.number ?? 0, number: requests),
            isEncrypted: server.configuration.certificate != nil)
        phase = .atWork(head)
        expire(after: bounds.requestTimeout) {
            $0.work?.cancel()
            $0.refuse(.internalServerError, "Something went wrong on our side.")
        }
        guard let context else { return }
        let (connection, conversation) = (NIOLoopBound(self, eventLoop: context.eventLoop), conversation)
        // It ends with the request, and is cancelled with the connection.
        work = loop.assumeIsolated { $0.begin { await Self.answer(request, by: conversation, connection, on: $0) } }
    }

    private static func answer(
        _ request: HTTPRequest, by conversation: any HTTPConversation, _ connection: NIOLoopBound<HTTPConnection>,
        on loop: isolated LoopActor
    ) async {
        let answer = await conversation.answer(request)
        connection.value.finish(answer, request.id)
    }
}

/// How an answer goes out.
extension HTTPConnection {
    /// How much of an answer is handed to the socket at once, in bytes.
    private static let flightBytes = 1 << 16

    private func finish(_ answer: HTTPAnswer, _ id: RequestID) {
        guard case .atWork(let head) = phase, id.number == requests else { return }
        work = nil
        if let change = answer.takeOver { return takeOver(answer, change) }
        write(answer, to: head)
    }

    private func write(_ answer: HTTPAnswer, to request: HTTPRequestHead) {
        guard let context else { return }
        phase = .writing
        var head = HTTPResponseHead(version: .http1_1, status: answer.status, headers: answer.headers)
        if answer.status.mayHaveResponseBody {
            head.headers.replaceOrAdd(
                name: "Content-Length", value: String(answer.file?.length ?? answer.body.readableBytes))
        }
        head.headers.replaceOrAdd(name: "Connection", value: keepsAlive ? "keep-alive" : "close")
        // There is nothing to compress, or no use in it, and the length is that of the answer to GET.
        if request.method == .HEAD || answer.file != nil {
            head.headers.replaceOrAdd(name: "Content-Encoding", value: "identity")
        }
        context.write(Self.wrapOutboundOut(.head(head)), promise: nil)
        if let file = answer.file, request.method != .HEAD { return send(file, from: 0) }
        send(request.method == .HEAD ? ByteBuffer() : answer.body)
    }

    /// Writes what is left of a file, as fast as the client takes it.
    private func send(_ file: HTTPFile, from offset: Int) {
        guard let context else { return }
        guard offset < file.length else { return endAnswer() }
        expire(after: bounds.writeTimeout) { $0.cut() }
        NIOThreadPool.singleton.runIfActive(eventLoop: context.eventLoop) {
            try file.bytes(from: offset, count: min(4 * Self.flightBytes, file.length - offset))
        }.assumeIsolated().whenComplete { result in
            guard let context = self.context else { return }
            // One that cannot be read to its end ends with the connection.
            guard case .success(let bytes) = result, bytes.readableBytes > 0 else { return self.cut() }
            let written = context.eventLoop.makePromise(of: Void.self)
            written.futureResult.assumeIsolated().whenSuccess { self.send(file, from: offset + bytes.readableBytes) }
            context.writeAndFlush(Self.wrapOutboundOut(.body(.byteBuffer(bytes))), promise: written)
        }
    }

    /// Writes what is left of an answer, as fast as the client takes it. The next request comes once all of it is with the
    /// kernel, so that who reads nothing is answered once.
    private func send(_ rest: ByteBuffer) {
        guard let context else { return }
        var rest = rest
        let written = context.eventLoop.makePromise(of: Void.self)
        let flight = rest.readSlice(length: min(Self.flightBytes, rest.readableBytes)) ?? ByteBuffer()
        expire(after: bounds.writeTimeout) { $0.cut() }
        written.futureResult.assumeIsolated().whenSuccess {
            if rest.readableBytes > 0 { self.send(rest) } else { self.endAnswer() }
        }
        context.writeAndFlush(Self.wrapOutboundOut(.body(.byteBuffer(flight))), promise: written)
    }

    private func endAnswer() {
        guard let context else { return }
        // The next request may be there, and comes within the write.
        phase = keepsAlive ? .idle : .leaving
        let written = context.eventLoop.makePromise(of: Void.self)
        written.futureResult.assumeIsolated().whenSuccess { self.isWritten() }
        context.writeAndFlush(Self.wrapOutboundOut(.end(nil)), promise: written)
    }

    private func isWritten() {
        guard let context else { return }
        connections.answered(context.channel)
        switch phase {
        case .idle: expire(after: bounds.idleTimeout) { $0.cut() }
        case .leaving: leave()
        case .awaitingHead, .receiving, .passingOn, .atWork, .writing, .closed: break
        }
    }

    /// Answers, and closes: what the client sends is not understood, or not wanted.
    private func refuse(_ status: HTTPResponseStatus, _ why: String) {
        let answer = conversation.refusal(status, why, of: phase.head?.headers ?? [:])
        discardBody()
        setReading(true)
        phase = .leaving
        var headers = answer.headers
        headers.replaceOrAdd(name: "Content-Length", value: String(answer.body.readableBytes))
        headers.replaceOrAdd(name: "Connection", value: "close")
        writeRaw(HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers), answer.body)
        leave()
    }

    /// The client has its time to read the last answer before the connection is gone.
    private func leave() {
        context?.close(mode: .output, promise: nil)
        expire(after: bounds.lingerTimeout) { $0.cut() }
    }

    /// Writes a head past the handlers that expect one answer to each request.
    private func writeRaw(_ head: HTTPResponseHead, _ body: ByteBuffer = ByteBuffer()) {
        guard let encoder = coding.first.flatMap({ try? context?.pipeline.syncOperations.context(handler: $0) }) else {
            return
        }
        encoder.writeAndFlush(NIOAny(Self.bytes(of: head, body)), promise: nil)
    }

    private static func bytes(of head: HTTPResponseHead, _ body: ByteBuffer = ByteBuffer()) -> ByteBuffer {
        var bytes = ByteBuffer(string: "HTTP/1.1 \(head.status.code) \(head.status.reasonPhrase)\r\n")
        for (name, value) in head.headers { bytes.writeString("\(name): \(value)\r\n") }
        bytes.writeString("\r\n")
        bytes.writeImmutableBuffer(body)
        return bytes
    }

    /// Makes of the connection one of another protocol.
    private func takeOver(_ answer: HTTPAnswer, _ change: (any Channel, ConnectionPlace) throws -> Void) {
        guard let context, let place else { return cut() }
        let channel = context.channel
        self.place = nil
        let head = HTTPResponseHead(version: .http1_1, status: answer.status, headers: answer.headers)
        do {
            try channel.syncOptions?.setOption(.autoRead, value: false)
            let pipeline = channel.pipeline.syncOperations
            for handler in coding + [self] { _ = pipeline.removeHandler(handler) }
            pipeline.writeAndFlush(NIOAny(Self.bytes(of: head)), promise: nil)
            try change(channel, place)
        } catch {
            place.leave()
            channel.close(promise: nil)
        }
    }
}
