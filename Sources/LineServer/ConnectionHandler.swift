import Messaging
import NIOCore

/// One connection's bytes: cuts them into lines for the connection's task, writes what is queued, keeps the deadlines.
///
/// All of it happens on the connection's event loop; the task that does the requests asks for a line with ``next(_:)`` and
/// answers it with ``answer(_:)``.
final class ConnectionHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// What the connection's task is given to do.
    typealias Work = LineFramer.Event

    private enum Phase {
        /// Requests are taken and done.
        case serving

        /// No more requests are taken; those that were are done before this is said.
        case finishing(Goodbye)

        /// The goodbye is queued; what still comes is discarded. `until`: when the connection is closed in any case.
        case leaving(until: NIODeadline)

        case closed
    }

    private let server: ServerContext
    private let loop: LineLoop
    private let refusal: Goodbye?

    /// The connection's number, for the log.
    private let number: Int

    /// Where the loop keeps this connection.
    var index: Int?

    private(set) var outlet: ConnectionOutlet?
    private var context: ChannelHandlerContext?
    private var phase = Phase.serving

    private var framer: LineFramer

    /// Lines that wait to be done, from `head` on; an array that is empty holds no memory.
    private var taken: [Work] = []
    private var head = 0
    private var takenBytes = 0

    /// Whether the task is at work on a line.
    private var isBusy = false

    /// The task, waiting for a line; nil ends it.
    private var waiter: CheckedContinuation<Work?, Never>?

    private var isReading = false
    private var hasInputEnded = false
    private var hasOutputEnded = false

    private var queue: OutboundQueue
    private var isFlushDue = false
    private var isFlushing = false

    private var expiry: (deadline: NIODeadline, goodbye: Goodbye)?
    private var lastSent = NIODeadline.now()
    private var laggedSince: NIODeadline?

    /// Since when the flight that is out has made no progress, and how much of it was left then.
    private var stalled: (since: NIODeadline, bytes: Int)?

    /// - Parameter refusal: what the client is told instead of being served; nil serves it.
    init(server: ServerContext, loop: LineLoop, refusal: Goodbye?) {
        self.server = server
        self.loop = loop
        self.refusal = refusal
        self.number = server.nextNumber()
        self.framer = LineFramer(maxLineBytes: server.configuration.maxLineBytes)
        self.queue = OutboundQueue(maxQueueBytes: server.configuration.maxQueueBytes)
        self.outlet = ConnectionOutlet(self, loop: loop)
    }

    // MARK: The channel

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if context.channel.isActive { self.begin() }
    }

    func handlerRemoved(context: ChannelHandlerContext) {
        self.end()
    }

    func channelActive(context: ChannelHandlerContext) {
        self.begin()
        context.fireChannelActive()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.end()
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The peer is gone, or as good as gone: there is nobody to tell.
        context.close(promise: nil)
    }

    private func begin() {
        // Not before: what the loop does with its connections is to come after hello.
        self.loop.add(self)
        self.server.opened(self.number, peerAddress: self.context?.remoteAddress?.ipAddress ?? "")
        if let refusal = self.refusal {
            self.sayGoodbye(refusal, keepingAnswers: true)
        } else if self.server.isStopping {
            self.sayGoodbye(.shuttingDown, keepingAnswers: true)
        } else {
            self.expiry = (
                .now() + TimeAmount(self.server.configuration.authenticationTimeout),
                Goodbye(.authenticationTimeout, "The connection was not authenticated in time.")
            )
            self.send(self.server.hello)
        }
        self.readMore()
    }

    private func end() {
        if case .closed = self.phase { return }
        self.phase = .closed
        self.server.closed(self.number, isRefused: self.refusal != nil)
        self.loop.remove(self)
        self.outlet?.detach()
        self.outlet = nil
        self.context = nil
        self.forgetTaken()
        self.framer = LineFramer(maxLineBytes: 0)
        self.serve()
    }

    // MARK: Reading

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = Self.unwrapInboundIn(data)
        switch self.phase {
        case .serving: self.framer.feed(bytes)
        case .finishing, .leaving, .closed: break
        }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.isReading = false
        self.takeLines()
        self.serve()
        self.readMore()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event {
            self.hasInputEnded = true
            self.takeLines()
            self.serve()
            self.settle()
        }
        context.fireUserInboundEventTriggered(event)
    }

    /// Whether as much is taken as may be open at once.
    private var isFull: Bool {
        let open = self.taken.count - self.head + (self.isBusy ? 1 : 0)
        return open >= self.server.configuration.maxInFlight
            || self.takenBytes >= self.server.configuration.maxTakenBytes
    }

    private func takeLines() {
        guard case .serving = self.phase else { return }
        while !self.isFull, let work = self.framer.next() {
            if case .line(let line) = work { self.takenBytes += line.readableBytes }
            self.taken.append(work)
        }
    }

    /// Asks the socket for more, where there is room for it: reading less is what slows the sender down.
    private func readMore() {
        guard !self.isReading, !self.hasInputEnded, let context = self.context else { return }
        switch self.phase {
        case .serving: if self.isFull { return }
        case .finishing, .closed: return
        case .leaving: break
        }
        self.isReading = true
        context.read()
    }

    private func forgetTaken() {
        self.taken = []
        self.head = 0
        self.takenBytes = 0
    }

    // MARK: The task

    var maxLineBytes: Int { self.framer.maxLineBytes }

    /// The task is done with what it was given, and gets the next line as soon as there is one and the client has made
    /// room for its answer; nil when there will be none.
    ///
    /// What the session asked of its connection until now takes effect before the next line is taken up.
    func next(_ waiter: CheckedContinuation<Work?, Never>) {
        self.isBusy = false
        self.waiter = waiter
        self.loop.readMail()
        self.takeLines()
        self.serve()
        self.settle()
        self.readMore()
    }

    /// Whether goodbye was said, so that no answer would arrive.
    var isLeaving: Bool {
        switch self.phase {
        case .serving, .finishing: false
        case .leaving, .closed: true
        }
    }

    /// Puts an answer on its way out. What the session asked of its connection before takes effect before it.
    func answer(_ line: ByteBuffer) {
        self.loop.readMail()
        self.send(line)
    }

    private func serve() {
        guard let waiter = self.waiter else { return }
        switch self.phase {
        case .serving, .finishing:
            guard self.head < self.taken.count else { return }
            if self.queue.unwrittenAnswerBytes > self.server.configuration.maxUnwrittenAnswerBytes {
                self.flush()
                // It may have been emptied, and this called again, by that.
                guard self.waiter != nil else { return }
                if self.queue.unwrittenAnswerBytes > self.server.configuration.maxUnwrittenAnswerBytes { return }
            }
            let work = self.taken[self.head]
            self.head += 1
            if self.head == self.taken.count {
                self.taken = []
                self.head = 0
            } else {
                // A line that is being done is the task's; nothing else is to hold on to it.
                self.taken[self.head - 1] = .tooLong
            }
            if case .line(let line) = work { self.takenBytes -= line.readableBytes }
            self.server.metrics.line()
            self.isBusy = true
            self.waiter = nil
            waiter.resume(returning: work)
        case .leaving, .closed:
            self.waiter = nil
            waiter.resume(returning: nil)
        }
    }

    /// Ends the connection where it has nothing left to do.
    private func settle() {
        let isIdle = !self.isBusy && self.head == self.taken.count
        switch self.phase {
        case .serving:
            if self.hasInputEnded, isIdle {
                // What is queued is on its way out already, and closing is asked again when it has landed.
                if self.queue.isEmpty { self.context?.close(promise: nil) }
            }
        case .finishing(let goodbye):
            if isIdle { self.sayGoodbye(goodbye, keepingAnswers: true) }
        case .leaving:
            guard self.queue.isEmpty, let context = self.context else { return }
            if self.hasInputEnded {
                context.close(promise: nil)
            } else if !self.hasOutputEnded {
                self.hasOutputEnded = true
                context.close(mode: .output, promise: nil)
            }
        case .closed:
            break
        }
    }

    // MARK: Orders

    func carryOut(_ order: LineLoop.Order) {
        switch order {
        case .startPushes(let cursor):
            self.queue.startPushes(cursor: cursor)
            self.laggedSince = nil
        case .stopPushes:
            self.queue.stopPushes()
            self.laggedSince = nil
        case .push(let push):
            self.server.metrics.pushed()
            if self.queue.push(push) {
                // A burst leaves while it comes, rather than to pile up past the bound within one tick.
                if self.queue.isFlightWaiting { self.flush() } else if !self.queue.isFlying { self.flushLater() }
            } else {
                self.server.metrics.lagged()
                self.laggedSince = .now()
                self.flushLater()
            }
        case .noteCursor(let cursor):
            self.queue.noteCursor(cursor)
        case .setExpiry(let expiry):
            self.expiry = expiry.map { (.now() + .nanoseconds(Int64(clamping: $0.seconds)), $0.goodbye) }
        case .goodbye(let goodbye):
            self.sayGoodbye(goodbye, keepingAnswers: true)
        }
    }

    /// Takes nothing more, does what was taken, and says goodbye then.
    func finishThenSay(_ goodbye: Goodbye) {
        guard case .serving = self.phase else { return }
        self.phase = .finishing(goodbye)
        self.settle()
    }

    /// Closes at once.
    func cut() {
        self.context?.close(promise: nil)
    }

    private func sayGoodbye(_ goodbye: Goodbye, keepingAnswers: Bool) {
        switch self.phase {
        case .serving, .finishing: break
        case .leaving, .closed: return
        }
        self.phase = .leaving(until: .now() + TimeAmount(self.server.configuration.lingerTimeout))
        self.forgetTaken()
        self.framer = LineFramer(maxLineBytes: 0)
        self.queue.close(with: ServerLines.goodbye(goodbye), keepingAnswers: keepingAnswers)
        self.flushLater()
        self.serve()
        self.readMore()
    }

    // MARK: Writing

    private func send(_ line: ByteBuffer) {
        self.queue.answer(line)
        self.flushLater()
    }

    private func flushLater() {
        guard !self.isFlushDue else { return }
        self.isFlushDue = true
        self.loop.flushLater(self)
    }

    /// Hands to the socket what it has room for.
    func flush() {
        self.isFlushDue = false
        // A flight can land before the call that sent it returns: the loop below then goes on, not the callback.
        guard !self.isFlushing, let context = self.context else { return }
        self.isFlushing = true
        while true {
            let lines = self.queue.takeFlight()
            guard let last = lines.last else { break }
            for line in lines.dropLast() { context.write(Self.wrapOutboundOut(line), promise: nil) }
            let promise = context.eventLoop.makePromise(of: Void.self)
            promise.futureResult.assumeIsolated().whenComplete { result in
                // A flight that failed takes the connection with it.
                if case .success = result { self.landed() }
            }
            self.lastSent = .now()
            context.writeAndFlush(Self.wrapOutboundOut(last), promise: promise)
            if self.queue.isFlying { break }
        }
        self.isFlushing = false
        self.settle()
    }

    private func landed() {
        self.queue.landed()
        self.stalled = nil
        if !self.queue.isLagged { self.laggedSince = nil }
        guard !self.isFlushing else { return }
        self.flush()
        self.serve()
    }

    // MARK: Deadlines

    /// Does what is due.
    func sweep(_ now: NIODeadline) {
        switch self.phase {
        case .serving, .finishing:
            if let expiry = self.expiry, expiry.deadline <= now {
                self.sayGoodbye(expiry.goodbye, keepingAnswers: true)
            } else if self.isTooSlow(now) {
                self.sayGoodbye(
                    Goodbye(.slowConsumer, "The connection did not read what was sent to it in time."),
                    keepingAnswers: false)
            } else if self.queue.isEmpty, now - self.lastSent >= TimeAmount(self.server.configuration.pingInterval) {
                self.send(ServerLines.ping(cursor: self.queue.cursor))
            }
        case .leaving(let deadline):
            if deadline <= now { self.cut() }
        case .closed:
            break
        }
    }

    private func isTooSlow(_ now: NIODeadline) -> Bool {
        let limit = TimeAmount(self.server.configuration.slowConsumerTimeout)
        if let laggedSince = self.laggedSince, now - laggedSince >= limit { return true }
        guard self.queue.isFlying, let context = self.context else { return false }
        // A flight may be one long answer to a slow reader: only one that does not move at all is stalled.
        let bytes = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        guard let stalled = self.stalled, stalled.bytes == bytes else {
            self.stalled = (now, bytes)
            return false
        }
        return now - stalled.since >= limit
    }
}

extension Int64 {
    /// Seconds in nanoseconds, within what fits: a token may be good for centuries.
    fileprivate init(clamping seconds: Double) {
        let nanoseconds = seconds * 1e9
        self = nanoseconds >= 4e18 ? 4_000_000_000_000_000_000 : nanoseconds <= 0 ? 0 : Int64(nanoseconds)
    }
}
