import ChangeFeed
import Concurrency
import DatabaseAccess
import Foundations
import Messaging
import NIOCore
import NIOSSL
import NIOTLS
import WireProtocol

/// The handler of one connection on its event loop. It reports events to its ``ConnectionStateMachine`` and performs
/// the resulting actions.
final class ConnectionHandler: ChannelInboundHandler, ProxiedConnection {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The connection's index in the loop's list.
    var index: Int?

    private(set) var state: ConnectionStateMachine

    private let server: ServerContext
    private let loop: LineLoop
    private let sessions: any SessionFactory

    /// The session's reference to this connection, until closed.
    private var sink: ConnectionSink?
    private(set) var context: ChannelHandlerContext?

    private let slot: AdmissionSlot

    /// True if the server must wait for the end of this connection.
    private var isAwaited: Bool

    /// The address of the socket's peer: the client, or the balancer before it.
    private let socketAddress: String

    /// True until the TLS handshake is complete.
    private var isHandshakeAwaited: Bool

    /// The direct writer, or nil if an earlier handler transforms written bytes.
    var directWriter: DirectSocketWriter?

    /// The session, from `server.hello` on, or nil for a client that is not served.
    private var session: (any LineSession)?
    private var hasSessionEnded = false

    private var work: LineWork?

    /// True while the current line waits for the limits of its client, before it is parsed.
    var isAwaitingAdmission = false

    /// The continuation of a JSON-RPC batch that waits for room.
    private var batch: CheckedContinuation<Void, Never>?

    /// The number of requests given to the session.
    private var requests = 0

    private var isProceeding = false

    /// - Parameters:
    ///   - slot: must not be dropped.
    ///   - socketAddress: the address of the socket's peer. With PROXY it is the balancer's, and
    ///     ``didReceiveClientAddress(_:)`` provides the client's.
    ///   - isHandshakeAwaited: true if a TLS handshake must come first.
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
        state = ConnectionStateMachine(
            configuration, writeBatchBytes: slot.writeBatchBytes, now: now, opensUntil: now + TimeAmount(waitTimeout))
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
            endAdmissionWait()
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
        // The client closed its side without a TLS close alert. Lines show by themselves if they are whole, so this is
        // a normal end, which the channel reports next.
        if case .uncleanShutdown? = error as? NIOSSLError { return }
        if state.isOpening { return handshakeFailed("\(error)") }
        // The peer is gone, so no goodbye is possible.
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        endAdmissionWait()
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

    /// Receives the client's address from the PROXY header.
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

    /// Closes a connection that failed before its first line. It gets no goodbye, which it could not parse.
    func handshakeFailed(_ reason: String) {
        guard state.isOpening else { return }
        slot.failedToOpen(reason)
        cut()
    }

    /// Begins the line protocol once address and handshake are complete.
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
        // A running line stays in the list until it is done, for its timeout.
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

    /// Closes at once and cancels the current line.
    func abort() {
        work?.task.cancel()
        cut()
    }

    /// Accepts no more requests, executes those accepted, then says goodbye.
    func finishThenSay(_ goodbye: Goodbye) {
        state.finish(goodbye)
        proceed()
    }

    /// Performs the actions that are due.
    func sweep(_ now: NIODeadline) {
        state.sweep(now) { (try? context?.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0 }
        proceed()
    }

    /// Executes an order from the session.
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

    /// Queues a push for the next flush, or writes it directly if `atOnce` is true and nothing is queued before it.
    func push(_ push: Push, _ now: NIODeadline, atOnce: Bool) {
        guard atOnce, let directWriter, let context, state.queue.acceptsDirectWrite(push) else {
            state.push(push, now)
            return proceed()
        }
        let rest = directWriter.write(push.line)
        state.wroteDirectly(push, now, isWhole: rest.readableBytes == 0)
        if rest.readableBytes > 0 { context.write([rest], over: nil, onCompletion: writeCompleted) }
    }

    /// Flushes at the end of the loop's turn.
    ///
    /// - Returns: false if the flush should wait for another turn.
    func flushIsDue() -> Bool {
        guard state.flushIsDue() else { return false }
        proceed()
        return true
    }
}

extension ConnectionHandler {
    /// Ends the wait of a line whose client may be gone.
    private func endAdmissionWait() {
        if isAwaitingAdmission { work?.task.cancel() }
    }

    private var addressKey: AddressKey { AddressKey(slot.clientAddress ?? "") }

    /// Performs all pending actions.
    private func proceed() {
        // The loop below also performs the actions that follow from an action.
        guard !isProceeding else { return }
        isProceeding = true
        while let action = state.next() { perform(action) }
        isProceeding = false
    }

    private func perform(_ action: ConnectionStateMachine.Action) {
        switch action {
        case .begin(let event):
            loop.turnBudget.begin(cost: event.turnCost, of: addressKey) {
                self.begin(event)
                return !self.state.isClosed
            }
        case .resumeBatch:
            if let batch { loop.turnBudget.resume(batch, of: addressKey) }
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
            // The task ends with its line, for which the server waits unless it times out.
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

    /// Answers all open requests of the current line, whose task may never end.
    private func timeOutRequest() {
        guard let work else { return }
        work.task.cancel()
        let owed = work.owed
        let error = server.requestTimedOut(lastRequest, owed.overdue)
        for id in owed.ids { state.answer(.failure(error), id: id, isWhole: owed.isWhole) }
        endBatch()
        lineIsDone()
    }

    /// The id of the last request that the session was given.
    private var lastRequest: RequestID { RequestID(connection: slot.number, number: requests) }

    private func endSession() {
        guard let session else { return sessionHasEnded() }
        let connection = NIOLoopBound(self, eventLoop: loop.eventLoop)
        // The server waits for the end of the session.
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

    /// Stops the server from waiting for this connection once the session has ended and the connection is closed.
    private func leaveIfOver() {
        guard isAwaited, hasSessionEnded, state.isClosed else { return }
        isAwaited = false
        server.connections.leave()
    }
}

/// Callbacks of the current line's task.
extension ConnectionHandler {
    /// Keeps the continuation of a JSON-RPC batch until there is room for its next response.
    func awaitRoom(_ batch: CheckedContinuation<Void, Never>) {
        self.batch = batch
        state.awaitRoom()
        proceed()
    }

    /// Resumes the caller in this turn of the event loop, or in a later one if this turn's budget is spent.
    func awaitTurn(of event: LineFramer.Event, _ caller: CheckedContinuation<Void, Never>) {
        loop.turnBudget.resume(caller, cost: event.turnCost, of: addressKey)
    }

    /// Joins up to `most` sends that wait behind the current line to it.
    func joinSends(_ most: Int) -> [Envelope.Item] {
        guard var work else { return [] }
        let sends = work.joinSends(most) { state.joinLine($0) }
        self.work = work
        for _ in sends { server.metrics.line() }
        return sends
    }

    /// Notes the start of a request, for its timeout.
    func requestBegins() -> RequestID {
        requests += 1
        state.requestBegan(at: .now())
        return lastRequest
    }

    func hookBegins() { state.requestBegan(at: .now()) }

    /// Ends a request and queues its response. Earlier orders from the session take effect before the response.
    ///
    /// - Parameters:
    ///   - id: nil for a notification, which gets no response.
    ///   - isWhole: true if the response is a line, and not a part of a batch's.
    func requestIsDone(_ id: JSON?, _ content: Answer.Content, isWhole: Bool) {
        state.requestBegan(at: nil)
        work?.answered += 1
        guard let id else { return }
        loop.drainInbox()
        state.answer(content, id: id, isWhole: isWhole)
        proceed()
    }

    /// Ends the response to a JSON-RPC batch, if one is open.
    func endBatch() {
        state.endBatch()
        proceed()
    }

    /// Ends the current line. Earlier orders from the session take effect before the next line begins.
    func lineIsDone() {
        work = nil
        state.lineIsDone()
        if state.isClosed { loop.remove(self) }
        loop.drainInbox()
        proceed()
    }
}
