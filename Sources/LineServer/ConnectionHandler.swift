import Messaging
import NIOCore
import NIOSSL
import NIOTLS

/// One connection's bytes: cuts them into lines for the connection's task, writes what is queued, keeps the deadlines.
///
/// All of it happens on the connection's event loop; the task that does the requests asks for a line with ``next(_:)``
/// and answers it with ``answer(_:)``.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What the connection's task is given to do.
    typealias Work = LineFramer.Event

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
    let refusal: Goodbye?

    /// The connection's number, for the log.
    let number: Int

    /// Where the client is, as it was admitted.
    let peerAddress: String

    /// Whether the client has still to shake hands (TLS).
    private var isHandshakeAwaited: Bool

    /// Where the loop keeps this connection.
    var index: Int?

    private(set) var outlet: ConnectionOutlet?
    var context: ChannelHandlerContext?
    var phase: Phase

    var framer: LineFramer

    /// Lines that wait to be done, from `head` on; an array that is empty holds no memory.
    var taken: [Work] = []
    var head = 0
    var takenBytes = 0

    /// Whether the task is at work on a line.
    var isBusy = false

    /// The task, waiting for the connection to be open; false ends it.
    private var opener: CheckedContinuation<Bool, Never>?

    /// The task, waiting for a line; nil ends it.
    var waiter: CheckedContinuation<Work?, Never>?

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
    ///   - refusal: what the client is told instead of being served; nil serves it.
    ///   - isEncrypted: whether there is a TLS handler before this one.
    init(server: ServerContext, loop: LineLoop, peerAddress: String, refusal: Goodbye?, isEncrypted: Bool) {
        self.server = server
        self.loop = loop
        self.refusal = refusal
        self.number = server.nextNumber()
        self.peerAddress = peerAddress
        self.isHandshakeAwaited = isEncrypted
        let patience =
            refusal == nil ? server.configuration.authenticationTimeout : server.configuration.lingerTimeout
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
        if case .opening = self.phase { self.server.failedToOpen(self.number, self.peerAddress, "\(error)") }
        // The peer is gone, or as good as gone: there is nobody to tell.
        context.close(promise: nil)
    }

    private func start() {
        self.loop.add(self)
        if !self.isHandshakeAwaited { self.begin() }
        self.readMore()
    }

    /// What comes before lines is done.
    private func begin() {
        guard case .opening(let deadline) = self.phase else { return }
        self.phase = .serving
        self.server.opened(self.number, peerAddress: self.peerAddress)
        if let refusal = self.refusal {
            self.sayGoodbye(refusal, keepingAnswers: true)
        } else if self.server.isStopping {
            self.sayGoodbye(.shuttingDown, keepingAnswers: true)
        } else {
            self.expiry = (
                deadline,
                Goodbye(.authenticationTimeout, "The connection was not authenticated in time.")
            )
            self.send(self.server.hello)
        }
        self.opener?.resume(returning: true)
        self.opener = nil
    }

    /// Whether the connection came to be open, once that is known.
    func whenOpen(_ opener: CheckedContinuation<Bool, Never>) {
        switch self.phase {
        case .opening: self.opener = opener
        case .serving, .finishing, .leaving: opener.resume(returning: true)
        case .closed: opener.resume(returning: false)
        }
    }

    private func end() {
        if case .closed = self.phase { return }
        self.phase = .closed
        self.server.closed(self.number, peerAddress: self.peerAddress, isRefused: self.refusal != nil)
        self.loop.remove(self)
        self.outlet?.detach()
        self.outlet = nil
        self.context = nil
        self.forgetTaken()
        self.framer = LineFramer(maxLineBytes: 0)
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
