internal import EventLoops
import LineServer
import Messaging
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL

/// One connection on its event loop: takes requests one after another, has each answered, and writes the answer.
///
/// Every wait has its end: for a head, for a body, for the answer, for the client to take it, and for the next request.
final class HTTPConnection: ChannelInboundHandler, RemovableChannelHandler, ProxiedConnection {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    let server: HTTPServer
    let connections: HTTPConnections
    let conversation: any HTTPConversation
    private let loop: LoopActor

    /// Nil where the server shares its bounds with none.
    var slot: AdmissionSlot?

    /// The handlers before this one, which make requests of bytes, and bytes of answers.
    let decoding: HTTPRequestDecoding
    let encoding: HTTPResponseEncoder
    private let socketAddress: String
    private(set) var context: ChannelHandlerContext?
    var phase = HTTPPhase.awaitingHead

    /// How many requests were taken.
    private(set) var requests = 0
    var work: Task<Void, Never>?

    /// Whether another request may follow the one at work.
    private(set) var keepsAlive = true
    private var deadline: Scheduled<Void>?

    init(
        server: HTTPServer, connections: HTTPConnections, slot: AdmissionSlot?, socketAddress: String,
        decoding: HTTPRequestDecoding, encoding: HTTPResponseEncoder, loop: any EventLoop
    ) {
        self.server = server
        self.connections = connections
        self.slot = slot
        self.socketAddress = socketAddress
        self.decoding = decoding
        self.encoding = encoding
        let executor = LoopExecutor(loop)
        self.loop = LoopActor(executor)
        conversation = server.converse(executor)
    }

    private var peerAddress: String { slot?.peerAddress ?? socketAddress }

    var bounds: HTTPBounds { server.configuration.bounds }

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
        if case .idle = phase, decoding.hasBegunRequest {
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
        switch error {
        case let refusal as HTTPRefusal: refuse(refusal)
        // The client ended its side without TLS's own end, which the channel tells in a moment.
        case NIOSSLError.uncleanShutdown: break
        default: cut()
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
    func didReceiveClientAddress(_ address: String?) {
        slot?.assignAddress(address ?? socketAddress)
        if slot?.isDropped == true { cut() }
    }

    func handshakeFailed(_ reason: String) {
        slot?.failedToOpen(reason)
        cut()
    }

    /// Lets this happen after that time, unless something else happens before. It replaces the last that was said.
    func expire(after time: TimeAmount, _ body: @escaping (HTTPConnection) -> Void) {
        deadline?.cancel()
        deadline = context?.eventLoop.assumeIsolated().scheduleTask(in: time) { body(self) }
    }

    func cut() { context?.close(promise: nil) }
    private func end() {
        if case .closed = phase { return }
        discardBody()
        phase = .closed
        deadline?.cancel()
        deadline = nil
        // A request is completed though its client is gone; but a server that stops does not wait for it.
        let work = self.work
        if connections.isStopping { work?.cancel() }
        slot?.release()
        slot = nil
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
        keepsAlive = head.isKeepAlive && !connections.isStopping
        phase = .receiving(head, ByteBuffer())
        if let refusal = slot?.refusal { return refuse(.serviceUnavailable, refusal.message) }
        let length = head.headers.first(name: "Content-Length").map { Int($0) ?? .max }
        do throws(HTTPRefusal) {
            if let receiver = try conversation.receiver(of: head, from: peerAddress), let loop = context?.eventLoop {
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
            return refuse(error)
        }
        let expectation = head.headers.first(name: "Expect")?.lowercasedASCII
        if head.version != .http1_0, length != 0, expectation == "100-continue" {
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

    func setReading(_ isReading: Bool) {
        try? context?.channel.syncOptions?.setOption(.autoRead, value: isReading)
    }

    func discardBody() {
        if case .passingOn(_, let body, _) = phase { body.discard() }
    }

    private func refuseLargeBody() {
        refuse(HTTPRefusal.largeBody(bounds))
    }

    private func take(_ head: HTTPRequestHead, _ body: ByteBuffer, _ receiver: (any HTTPBodyReceiver)? = nil) {
        guard let target = RequestTarget(head.uri), !target.isServerWide || head.method == .OPTIONS else {
            return refuse(
                .badRequest,
                "A request's target is a path with UTF-8 in its escapes, and at most 128 combining characters in a row."
            )
        }
        requests += 1
        let request = HTTPRequest(
            method: head.method, target: target, version: head.version, headers: head.headers, body: body,
            receiver: receiver,
            peerAddress: peerAddress,
            id: RequestID(connection: slot?.number ?? 0, number: requests),
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
