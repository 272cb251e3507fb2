import Messaging
import NIOCore
import NIOSSL
import NIOTLS

/// One connection's bytes: cuts them into lines for the connection's task, writes what is queued, keeps the deadlines.
///
/// All of it happens on the connection's event loop; the task that has the requests done asks for a line with
/// ``next(_:)``, and whoever does it answers with ``answer(_:id:isWhole:)`` and says with
/// ``done(_:)`` that it is done.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What the connection's task is given to do.
    enum Work {
        case take(LineFramer.Event)

        /// The request at work has gone on for longer than anything that could hold it.
        case giveUp
    }

    /// A line that waits to be done.
    struct Taken {
        var event: LineFramer.Event

        /// The storage that nothing holds any more once this and all before it are done, in bytes.
        var storage: Int
    }

    enum Phase {
        /// What comes before lines is not done. `until`: when the connection is closed otherwise.
        case opening(until: NIODeadline)

        /// Requests are taken and done.
        case serving

        /// No more requests are taken; those that were are done before this is said.
        case finishing(Goodbye)

        /// The goodbye is queued; what still comes is discarded. `until`: when the connection is closed in any case.
        case leaving(until: NIODeadline)

        case closed
    }

    let server: ServerContext
    let loop: LineLoop

    /// How the client was received.
    private(set) var admission: Admissions.Admission

    /// The connection's number, for the log.
    let number: Int

    /// Where the client is; nil until it is known.
    private(set) var peerAddress: String?

    /// Where the socket leads: to the client, or to the balancer before it.
    private let socketAddress: String

    /// Whether the client has still to shake hands (TLS).
    private var isHandshakeAwaited: Bool

    /// Where the loop keeps this connection.
    var index: Int?

    private(set) var outlet: ConnectionOutlet?
    var context: ChannelHandlerContext?
    var phase: Phase

    var framer: LineFramer

    /// Lines that wait to be done, from `head` on; an array that is empty holds no memory.
    var taken: [Taken] = []
    var head = 0

    /// The storage that lines hold which were taken, the one at work included, and of that the last one's, in bytes.
    var takenBytes = 0
    var workBytes = 0

    /// Whether a line is at work.
    var isBusy = false

    /// The number of the line at work. What a line that was given up answers is known by its old number.
    var turn = 0

    /// Since when the session is at work on the present request; nil where it is not.
    var requestBegan: NIODeadline?

    /// The task, waiting for the connection to be open; false where it is not served.
    private var opener: CheckedContinuation<Bool, Never>?

    /// The task, waiting for a line; nil ends it.
    var waiter: CheckedContinuation<Work?, Never>?

    /// A batch, waiting for room for the answer to its next request.
    var batch: CheckedContinuation<Void, Never>?

    var isReading = false
    var hasInputEnded = false
    var hasOutputEnded = false

    var queue: OutboundQueue
    var isFlushDue = false

    /// How many turns of the loop the flush that is due still waits for the answer to the next request.
    var flushPatience = 0

    var isFlushing = false

    var expiry: (deadline: NIODeadline, goodbye: Goodbye)?
    var lastSent = NIODeadline.now()
    var laggedSince: NIODeadline?

    /// Since when the flight that is out has made no progress, and how much of it was left then.
    var stalled: (since: NIODeadline, bytes: Int)?

    /// - Parameters:
    ///   - socketAddress: where the socket leads. With PROXY it is the balancer's, and ``comes(from:)`` tells the
    ///     client's.
    ///   - admission: how the client is received; not dropped.
    init(server: ServerContext, loop: LineLoop, socketAddress: String, admission: Admissions.Admission) {
        self.server = server
        self.loop = loop
        self.admission = admission
        self.number = server.nextNumber()
        self.socketAddress = socketAddress
        self.peerAddress = server.configuration.expectsProxyHeader ? nil : socketAddress
        self.isHandshakeAwaited = server.configuration.certificate != nil
        let patience =
            admission == .serve ? server.configuration.authenticationTimeout : server.configuration.lingerTimeout
        self.phase = .opening(until: .now() + TimeAmount(patience))
        self.framer = LineFramer(maxLineBytes: server.configuration.maxLineBytes)
        self.queue = OutboundQueue(maxQueueBytes: server.configuration.maxQueueBytes)
        self.outlet = ConnectionOutlet(self, loop: loop)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { self.start() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.end()
    }

    func channelActive(context: ChannelHandlerContext) {
        self.start()
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.end()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The client ended its side without TLS's own end. Lines show whether they are whole, so that it is an end like
        // any other, which the channel tells in a moment.
        if case .uncleanShutdown? = error as? NIOSSLError { return }
        if case .opening = self.phase { return self.isNotOpened("\(error)") }
        // The peer is gone, or as good as gone: there is nobody to tell.
        context.close(promise: nil)
    }

    private func start() {
        self.loop.add(self)
        self.begin()
        self.readMore()
    }

    /// A balancer has told where the client is.
    func comes(from header: ProxyHeader) {
        guard case .opening = self.phase, self.peerAddress == nil else { return }
        let address = header.source ?? self.socketAddress
        self.peerAddress = address
        if self.admission == .serve {
            self.admission = self.server.locate(at: address)
            switch self.admission {
            case .serve: break
            case .refuse: self.phase = .opening(until: .now() + TimeAmount(self.server.configuration.lingerTimeout))
            case .drop: return self.cut()
            }
        }
        self.begin()
    }

    /// The client did not do what comes before lines. It cannot be told so: it would not understand.
    func isNotOpened(_ reason: String) {
        guard case .opening = self.phase else { return }
        self.server.failedToOpen(self.number, self.peerAddress, reason)
        self.cut()
    }

    /// Begins with lines where all that comes before them is done.
    private func begin() {
        guard case .opening(let deadline) = self.phase, let peerAddress = self.peerAddress, !self.isHandshakeAwaited
        else { return }
        self.phase = .serving
        self.server.opened(self.number, peerAddress: peerAddress)
        if case .refuse(let reason) = self.admission {
            self.sayGoodbye(.tooManyConnections(reason), keepingAnswers: true)
        } else if self.server.isStopping {
            self.sayGoodbye(.shuttingDown, keepingAnswers: true)
        } else {
            self.expiry = (
                deadline,
                Goodbye(.authenticationTimeout, "The connection was not authenticated in time.")
            )
            self.send(self.server.hello)
        }
        self.opener?.resume(returning: self.admission == .serve)
        self.opener = nil
    }

    /// Whether the connection came to be open and is served, once that is known.
    func whenOpen(_ opener: CheckedContinuation<Bool, Never>) {
        switch self.phase {
        case .opening: self.opener = opener
        case .serving, .finishing, .leaving: opener.resume(returning: self.admission == .serve)
        case .closed: opener.resume(returning: false)
        }
    }

    private func end() {
        if case .closed = self.phase { return }
        self.phase = .closed
        self.server.closed(self.number, peerAddress: self.peerAddress, self.admission)
        // The line at work is watched until it is done.
        if !self.isBusy { self.loop.remove(self) }
        self.outlet?.detach()
        self.outlet = nil
        self.context = nil
        self.forgetTaken()
        self.framer = LineFramer(maxLineBytes: 0)
        self.queue.abandon()
        self.opener?.resume(returning: false)
        self.opener = nil
        self.serve()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = Self.unwrapInboundIn(data)
        switch self.phase {
        case .serving: self.framer.feed(bytes)
        case .opening, .finishing, .leaving, .closed: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.isReading = false
        self.takeLines()
        self.serve()
        self.readMore()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed:
            self.hasInputEnded = true
            self.takeLines()
            self.serve()
            self.settle()
        case TLSUserEvent.handshakeCompleted:
            self.isHandshakeAwaited = false
            self.begin()
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }
}
