import Concurrency
import DatabaseAccess
import Foundations
import LineServer
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import WireProtocol

/// One HTTP connection on its event loop. It passes requests to the handler one after another and writes the responses.
///
/// Each wait has a timeout: for a head, a body, the response, the client to read it, and the next request.
final class HTTPConnection: ChannelInboundHandler, RemovableChannelHandler, ProxiedConnection {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    let server: HTTPServer
    let connections: HTTPConnections
    let handler: any HTTPRequestHandler
    private let loop: LoopActor

    /// The admission slot, or nil if the server has no line server to share bounds with.
    var slot: AdmissionSlot?

    /// The preceding channel handlers, which decode requests and encode responses.
    let decoding: HTTPRequestDecoding
    let encoding: HTTPResponseEncoder
    private let socketAddress: String
    private(set) var context: ChannelHandlerContext?
    var phase = HTTPPhase.awaitingHead

    /// The number of requests received.
    private(set) var requestCount = 0
    var requestTask: Task<Void, Never>?

    /// True while the request waits for the limits of its client.
    private var isAwaitingAdmission = false

    /// True once the client has closed its side.
    private var hasInputEnded = false

    /// True if the connection stays open after the current response.
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
        handler = server.makeHandler(executor)
    }

    var peerAddress: String { slot?.peerAddress ?? socketAddress }

    var bounds: HTTPBounds { server.configuration.bounds }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        connections.connectionOpened(context.channel)
        setDeadline(after: bounds.headTimeout) { $0.closeNow() }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch (Self.unwrapInboundIn(data), phase) {
        case (.head(let head), .idle), (.head(let head), .awaitingHead): receiveHead(head)
        case (.body(let bytes), .receiving(let head, var body)):
            guard body.readableBytes + bytes.readableBytes <= bounds.maxBodyBytes else { return rejectLargeBody() }
            // Releases the enum's reference first, so that appending does not copy the buffer.
            phase = .receiving(head, ByteBuffer())
            body.writeImmutableBuffer(bytes)
            phase = .receiving(head, body)
        case (.end, .receiving(let head, let body)): handleRequest(head, body)
        case (.body(let bytes), .streamingBody(_, let body, let end)):
            body.append(bytes)
            awaitBody(body, until: end)
        case (.end, .streamingBody(_, let body, _)):
            body.end()
            bodyDidProgress(body)
        default: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        if case .idle = phase, decoding.hasBegunRequest {
            phase = .awaitingHead
            setDeadline(after: bounds.headTimeout) {
                $0.reject(.requestTimeout, "The request's head did not arrive in time.")
            }
        }
        context.fireChannelReadComplete()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event { hasInputEnded = true }
        switch (event, phase) {
        // The client may be gone, and its request must not be kept for seconds.
        case (ChannelEvent.inputClosed, _) where isAwaitingAdmission: closeNow()
        case (ChannelEvent.inputClosed, .processing), (ChannelEvent.inputClosed, .writing):
            keepsAlive = decoding.deferInputClosed() && keepsAlive
        case (ChannelEvent.inputClosed, _): closeNow()
        case (is HTTPConnections.StopEvent, .idle), (is HTTPConnections.StopEvent, .awaitingHead): closeNow()
        case (is HTTPConnections.StopEvent, _): keepsAlive = false
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        switch error {
        case let error as HTTPError: reject(error)
        // The client closed without TLS's close_notify. The channel reports the end next.
        case NIOSSLError.uncleanShutdown: break
        default: closeNow()
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        handleClose()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { handleClose() }
}

extension HTTPConnection {
    /// Applies the client address from the load balancer's PROXY header.
    func didReceiveClientAddress(_ address: String?) {
        slot?.assignAddress(address ?? socketAddress)
        if slot?.isDropped == true { closeNow() }
    }

    func handshakeFailed(_ reason: String) {
        slot?.failedToOpen(reason)
        closeNow()
    }

    /// Sets the connection's one deadline, replacing the previous one.
    func setDeadline(after time: TimeAmount, _ body: @escaping (HTTPConnection) -> Void) {
        deadline?.cancel()
        deadline = context?.eventLoop.assumeIsolated().scheduleTask(in: time) { body(self) }
    }

    func closeNow() { context?.close(promise: nil) }

    /// Returns the address of the client that sent a request, also behind trusted proxies.
    func clientAddress(of request: HTTPRequestHead) -> AddressKey {
        AddressKey(server.configuration.trustedProxies.clientAddress(from: peerAddress, request.headers))
    }

    private func handleClose() {
        if case .closed = phase { return }
        discardBody()
        phase = .closed
        deadline?.cancel()
        deadline = nil
        // An admitted request completes even if its client has disconnected. Its timeout remains.
        let requestTask = self.requestTask
        if isAwaitingAdmission { requestTask?.cancel() }
        let timeout = requestTask.flatMap { task in
            context?.eventLoop.assumeIsolated().scheduleTask(in: bounds.requestTimeout) { task.cancel() }
        }
        slot?.release()
        slot = nil
        if let channel = context?.channel { connections.connectionClosed(channel, during: requestTask) }
        context = nil
        let (handler, connections) = (handler, connections)
        // The server waits for this task before it ends.
        loop.assumeIsolated { loop in
            _ = loop.begin { _ in
                await requestTask?.value
                timeout?.cancel()
                await handler.close()
                connections.connectionFinished(after: requestTask)
            }
        }
    }
}

/// Receiving requests.
extension HTTPConnection {
    private func receiveHead(_ head: HTTPRequestHead) {
        keepsAlive = head.isKeepAlive && !connections.isStopping
        phase = .receiving(head, ByteBuffer())
        if let refusal = slot?.refusal { return reject(.serviceUnavailable, refusal.message) }
        let length = head.headers.first(name: "Content-Length").map { Int($0) ?? .max }
        do throws(HTTPError) {
            if let receiver = try handler.bodyReceiver(for: head, from: peerAddress), let loop = context?.eventLoop {
                let body = HTTPStreamingBody(
                    receiver, from: clientAddress(of: head), bytes: length ?? .max, on: loop,
                    rateGuard: server.uploadRateGuard
                ) { [weak self] in self?.bodyDidProgress($0) }
                let end = NIODeadline.now() + bounds.largeBodyTimeout
                phase = .streamingBody(head, body, until: end)
                awaitBody(body, until: end)
            } else {
                if let length, length > bounds.maxBodyBytes { return rejectLargeBody() }
                setDeadline(after: bounds.bodyTimeout) {
                    $0.reject(.requestTimeout, "The request's body did not arrive in time.")
                }
            }
        } catch {
            return reject(error, of: head)
        }
        let expectation = head.headers.first(name: "Expect")?.lowercasedASCII
        if head.version != .http1_0, length != 0, expectation == "100-continue" {
            writeRaw(HTTPResponseHead(version: .http1_1, status: .continue))
        }
    }

    /// Waits for the next bytes of a streamed body, or pauses reading while its receiver is behind.
    private func awaitBody(_ body: HTTPStreamingBody, until end: NIODeadline) {
        setReading(body.acceptsMore)
        let left = end - .now()
        setDeadline(after: body.acceptsMore && !body.hasEnded ? min(bounds.bodyIdleTimeout, left) : left) {
            $0.reject(.requestTimeout, "The request's body did not arrive in time.")
        }
    }

    /// Continues after the receiver has written a part of the body.
    private func bodyDidProgress(_ body: HTTPStreamingBody) {
        guard case .streamingBody(let head, let current, let end) = phase, current === body else { return }
        if body.failure != nil {
            return reject(
                .serviceUnavailable, body.receiver.refusal ?? "The upload cannot be stored now. Try again.")
        }
        guard body.isComplete else { return awaitBody(body, until: end) }
        setReading(true)
        handleRequest(head, ByteBuffer(), body.receiver)
    }

    func setReading(_ isReading: Bool) {
        try? context?.channel.syncOptions?.setOption(.autoRead, value: isReading)
    }

    func discardBody() {
        if case .streamingBody(_, let body, _) = phase { body.discard() }
    }

    private func rejectLargeBody() {
        reject(HTTPError.largeBody(bounds))
    }

    private func handleRequest(_ head: HTTPRequestHead, _ body: ByteBuffer, _ receiver: (any HTTPBodyReceiver)? = nil) {
        guard let target = RequestTarget(head.uri), !target.isServerWide || head.method == .OPTIONS else {
            return reject(Self.invalidTarget, of: head)
        }
        requestCount += 1
        let request = HTTPRequest(
            head, target: target, body: body, receiver: receiver, peerAddress: peerAddress,
            id: RequestID(connection: slot?.number ?? 0, number: requestCount),
            isEncrypted: server.configuration.certificate != nil)
        begin(head, bytes: head.countedBytes + body.readableBytes) { connection, refusal, _ in
            let handler = connection.value.handler
            let response = if let refusal { refusal } else { await handler.respond(to: request) }
            connection.value.send(response, to: request.id)
        }
    }

    /// Rejects a request because of its head, once it is counted against the limits of its client.
    private func reject(_ error: HTTPError, of head: HTTPRequestHead) {
        begin(head, bytes: head.countedBytes) { connection, _, _ in connection.value.reject(error) }
    }

    private static let invalidTarget = HTTPError(
        .badRequest,
        """
        A request's target must be a path of at most \(RequestTarget.maxSegments) segments, with at most \
        \(RequestTarget.maxFields) query fields, escapes in UTF-8, and at most 128 combining characters in a row.
        """)

    /// Begins the task of a request, which ends with the request. Its work begins in this turn of the event loop or a
    /// later one.
    ///
    /// - Parameter work: called once the request is admitted, or with the response to one that is not.
    private func begin(
        _ head: HTTPRequestHead, bytes: Int,
        _ work: @escaping @Sendable (NIOLoopBound<HTTPConnection>, HTTPResponse?, isolated LoopActor) async -> Void
    ) {
        guard let context else { return }
        phase = .processing(head)
        setDeadline(after: bounds.requestTimeout) {
            $0.requestTask?.cancel()
            $0.reject(.internalServerError, "Something went wrong on our side.")
        }
        let (connection, handler, peerAddress) = (
            NIOLoopBound(self, eventLoop: context.eventLoop), handler, peerAddress
        )
        let eventLoop = context.eventLoop
        requestTask = loop.assumeIsolated { loop in
            loop.begin { loop in
                connection.value.isAwaitingAdmission = true
                let refusal = await handler.admit(
                    head, bytes: bytes, from: peerAddress, canWait: !connection.value.hasInputEnded)
                // After the delay: many may end at one moment.
                await withSuspension { caller in
                    TurnBudget.of(eventLoop).resume(caller, cost: 1 + bytes / 4_096, of: AddressKey(peerAddress))
                    return .suspend
                }
                connection.value.isAwaitingAdmission = false
                guard case .processing = connection.value.phase else { return }
                await work(connection, refusal, loop)
            }
        }
    }
}
