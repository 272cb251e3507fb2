internal import EventLoops
import Messaging
import NIOCore
import NIOSSL
import NIOTLS

/// One connection on its event loop: tells its ``ConnectionState`` what happens, and does what follows.
final class ConnectionHandler: ChannelInboundHandler, ProxiedConnection {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// Where the loop keeps this connection.
    var index: Int?

    private(set) var state: ConnectionState

    private let server: ServerContext
    private let loop: LineLoop
    private let sessions: any SessionFactory

    /// What the session has of the connection, until that is closed.
    private var sink: ConnectionSink?
    private(set) var context: ChannelHandlerContext?

    private let slot: AdmissionSlot

    /// Whether the server waits for the end of this.
    private var isAwaited: Bool

    /// Where the socket leads: to the client, or to the balancer before it.
    private let socketAddress: String

    /// Whether the client has still to shake hands (TLS).
    private var isHandshakeAwaited: Bool

    /// What lines go over as they are; nil where a handler before this one changes what is written.
    var directWriter: DirectSocketWriter?

    /// From the hello on; nil for a client that is not served.
    private var session: (any LineSession)?
    private var hasSessionEnded = false

    private var work: LineWork?

    /// The batch at work, where it waits for room.
    private var batch: CheckedContinuation<Void, Never>?

    /// How many requests the session was given.
    private var requests = 0

    private var isProceeding = false

    /// - Parameters:
    ///   - place: not a dropped one.
    ///   - socketAddress: where the socket leads. With PROXY it is the balancer's, and ``didReceiveClientAddress(_:)`` tells the
    ///     client's.
    ///   - isHandshakeAwaited: whether the client has still to shake hands (TLS).
    init(
        _ slot: AdmissionSlot, loop: LineLoop, sessions: any SessionFactory, socketAddress: String,
        isHandshakeAwaited: Bool
    ) {
        server = slot.server
        let configuration = server.configuration
        self.slot = slot
        self.loop = loop
        self.sessions = sessions
        self.socketAddress = socketAddress
        self.isHandshakeAwaited = isHandshakeAwaited
        isAwaited = slot.admission == .serve
        let waitTimeout = isAwaited ? configuration.authenticationTimeout : configuration.lingerTimeout
        let now = NIODeadline.now()
        state = ConnectionState(configuration, now: now, opensUntil: now + TimeAmount(waitTimeout))
        sink = ConnectionSink(self, loop: loop)
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        if isAwaited { server.connections.enter() }
        if context.channel.isActive { start() }
    }

    func channelActive(context: ChannelHandlerContext) {
        start()
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { state.read(Self.unwrapInboundIn(data)) }

    func channelReadComplete(context: ChannelHandlerContext) {
        loop.turnBudget.hasRead()
        state.readIsOver()
        proceed()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        switch event {
        case ChannelEvent.inputClosed:
            state.inputIsOver()
            proceed()
        case TLSUserEvent.handshakeCompleted:
            isHandshakeAwaited = false
            open()
        case FramingEvent.messageTooLong:
            state.leave(.messageTooLong, keepingAnswers: true)
            proceed()
        default: break
        }
        context.fireUserInboundEventTriggered(event)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        // The client ended its side without TLS's own end. Lines show whether they are whole, so that it is an end like
        // any other, which the channel tells in a moment.
        if case .uncleanShutdown? = error as? NIOSSLError { return }
        if state.isOpening { return handshakeFailed("\(error)") }
        // The peer is gone, or as good as gone: there is nobody to tell.
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        end()
        context.fireChannelInactive()
    }

    func handlerRemoved(context: ChannelHandlerContext) { end() }
}

extension ConnectionHandler {
    private func start() {
        loop.add(self)
        open()
        proceed()
    }

    /// A balancer has told where the client is.
    func didReceiveClientAddress(_ address: String?) {
        guard state.isOpening, slot.peerAddress == nil else { return }
        let wasServed = slot.admission == .serve
        slot.assignAddress(address ?? socketAddress)
        if slot.isDropped { return cut() }
        if wasServed, slot.refusal != nil {
            state.mustOpen(by: .now() + TimeAmount(server.configuration.lingerTimeout))
        }
        open()
    }

    /// The client did not do what comes before lines. It cannot be told so: it would not understand.
    func handshakeFailed(_ reason: String) {
        guard state.isOpening else { return }
        slot.failedToOpen(reason)
        cut()
    }

    /// Begins with lines where all that comes before them is done.
    private func open() {
        guard state.isOpening, let peerAddress = slot.clientAddress, !isHandshakeAwaited, let sink else { return }
        slot.opened()
        if let refusal = slot.refusal {
            state.open(with: refusal)
        } else {
            session = sessions.makeSession(sink: sink, peerAddress: peerAddress)
            state.open(with: server.hello)
        }
        proceed()
    }

    private func end() {
        guard !state.isClosed else { return }
        state.close()
        slot.release()
        // The line at work is watched until it is done.
        if !state.lines.isBusy { loop.remove(self) }
        sink?.detach()
        sink = nil
        directWriter = nil
        context = nil
        proceed()
        leaveIfOver()
    }

    /// Closes at once.
    func cut() {
        state.cut()
        proceed()
    }

    /// Closes at once, and gives up what is at work.
    func abort() {
        work?.task.cancel()
        cut()
    }

    /// Takes nothing more, does what was taken, and says goodbye then.
    func finishThenSay(_ goodbye: Goodbye) {
        state.finish(goodbye)
        proceed()
    }

    /// Decides what is due.
    func sweep(_ now: NIODeadline) {
        state.sweep(now) { (try? context?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }
        proceed()
    }

    /// Does what the session asked.
    func carryOut(_ order: LineLoop.Order) {
        switch order {
        case .startPushes(let cursor): state.startPushes(cursor: cursor)
        case .stopPushes: state.stopPushes()
        case .fallBehind: state.fallBehind(.now())
        case .noteCursor(let cursor): state.noteCursor(cursor)
        case .setExpiry(let expiry): state.setExpiry(expiry, .now())
        case .goodbye(let goodbye, let keepsAnswers): state.leave(goodbye, keepingAnswers: keepsAnswers)
        }
        proceed()
    }

    /// Queues a push, which leaves with the next flush; or at once, where that is said and nothing is to leave before it.
    func push(_ push: Push, _ now: NIODeadline, atOnce: Bool) {
        guard atOnce, let directWriter, let context, state.beginDirectWrite(push, now) else {
            state.push(push, now)
            return proceed()
        }
        context.write([push.line], over: directWriter, onCompletion: writeCompleted)
    }

    /// What was to leave at the end of the turn leaves now.
    ///
    /// - Returns: false where it had better wait for another turn.
    func flushIsDue() -> Bool {
        guard state.flushIsDue() else { return false }
        proceed()
        return true
    }
}

extension ConnectionHandler {
    /// Does all that is to be done now.
    private func proceed() {
        // What an action brings about is done by the loop below it.
        guard !isProceeding else { return }
        isProceeding = true
        while let action = state.next() { perform(action) }
        isProceeding = false
    }

    private func perform(_ action: ConnectionState.Action) {
        switch action {
        case .begin(let event): loop.turnBudget.begin { self.begin(event) }
        case .resumeBatch:
            loop.turnBudget.begin { [batch] in batch?.resume() }
            batch = nil
        case .timeOutRequest: timeOutRequest()
        case .read: context?.read()
        case .flush: flush()
        case .flushLater: loop.flushLater(self)
        case .endSession: endSession()
        case .close(.output): context?.close(mode: .output, promise: nil)
        case .close(.whole): context?.close(promise: nil)
        case .close(.cut):
            let tls = try? context?.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
            (tls ?? context)?.close(promise: nil)
        case .timeOutHandshake: handshakeFailed("not in time")
        case .count(.lagged): server.metrics.lagged()
        case .count(.goodbye(let code)):
            if slot.admission == .serve { server.metrics.saidGoodbye(code) }
            context?.triggerUserOutboundEvent(code, promise: nil)
        }
    }

    private func flush() {
        let lines = state.nextWriteBatch(.now())
        if let context, !lines.isEmpty { context.write(lines, over: directWriter, onCompletion: writeCompleted) }
    }

    private func writeCompleted() {
        state.writeCompleted()
        proceed()
    }

    private func begin(_ event: LineFramer.Event) {
        server.metrics.line()
        switch event {
        case .line(let line):
            guard let session else { return lineIsDone() }
            let apart = LineTask(
                connection: NIOLoopBound(self, eventLoop: loop.eventLoop), session: session, turn: state.turn)
            // It ends with the line, and the server does not end before it.
            work = LineWork(lines: [line], task: loop.begin { await apart.run(line, on: $0) })
        case .tooLong:
            let maximum = server.configuration.maxLineBytes
            let error = ProtocolError(.lineTooLong, "A line has at most \(maximum) bytes; this one was discarded.")
            state.answer(.failure(error), id: .null, isWhole: true)
            lineIsDone()
        case .endless:
            state.leave(.lineTooLong, keepingAnswers: true)
            lineIsDone()
        }
    }

    /// Answers all that is still owed for the line at work, whose task may go on for ever.
    private func timeOutRequest() {
        guard let work else { return }
        work.task.cancel()
        let owed = work.owed
        let error = server.requestTimedOut(lastRequest, owed.overdue)
        for id in owed.ids { state.answer(.failure(error), id: id, isWhole: owed.isWhole) }
        endBatch()
        lineIsDone()
    }

    /// The last request that the session was given.
    private var lastRequest: RequestID { RequestID(connection: slot.number, number: requests) }

    private func endSession() {
        guard let session else { return sessionHasEnded() }
        let connection = NIOLoopBound(self, eventLoop: loop.eventLoop)
        // The server does not end before the session has.
        loop.begin { loop in await Self.close(session, of: connection, on: loop) }
    }

    private static func close(
        _ session: any LineSession, of connection: NIOLoopBound<ConnectionHandler>, on loop: isolated LoopActor
    ) async {
        await session.close()
        connection.value.sessionHasEnded()
    }

    private func sessionHasEnded() {
        session = nil
        hasSessionEnded = true
        leaveIfOver()
    }

    /// Lets the server end, as far as it waits for this connection.
    private func leaveIfOver() {
        guard isAwaited, hasSessionEnded, state.isClosed else { return }
        isAwaited = false
        server.connections.leave()
    }
}

/// What the task of the line at work says.
extension ConnectionHandler {
    /// The batch goes on once there is room for its next answer.
    func awaitRoom(_ batch: CheckedContinuation<Void, Never>) {
        self.batch = batch
        state.awaitRoom()
        proceed()
    }

    /// Has the sends that wait behind the line at work done together with it, so many at most.
    func joinSends(_ most: Int) -> [Envelope.Item] {
        guard var work else { return [] }
        let sends = work.joinSends(most) { state.joinLine($0) }
        self.work = work
        for _ in sends { server.metrics.line() }
        return sends
    }

    /// A request begins, which must end in time.
    func requestBegins() -> RequestID {
        requests += 1
        state.requestBegan(at: .now())
        return lastRequest
    }

    func hookBegins() { state.requestBegan(at: .now()) }

    /// A request is done, and its answer is put on its way out. What the session asked of its connection before takes
    /// effect before it.
    ///
    /// - Parameters:
    ///   - id: nil for a notification, which is not answered.
    ///   - isWhole: whether the line ends with this, and is not a part of a batch's answer.
    func requestIsDone(_ id: JSON?, _ content: Answer.Content, isWhole: Bool) {
        state.requestBegan(at: nil)
        work?.answered += 1
        guard let id else { return }
        loop.drainInbox()
        state.answer(content, id: id, isWhole: isWhole)
        proceed()
    }

    /// Ends a batch's answer, where there is one.
    func endBatch() {
        state.endBatch()
        proceed()
    }

    /// The line at work is done. What the session asked of its connection until now takes effect before the next is
    /// taken up.
    func lineIsDone() {
        work = nil
        state.lineIsDone()
        if state.isClosed { loop.remove(self) }
        loop.drainInbox()
        proceed()
    }
}
