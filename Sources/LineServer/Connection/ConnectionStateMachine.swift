import ChangeFeed
import Messaging
import NIOCore
import WireProtocol

/// The state machine of one connection: its phase, unexecuted lines and outbound queue.
///
/// It performs no I/O and reads no clock. The handler reports events, then performs the actions that ``next()`` returns
/// until it returns nil. An action may report further events, which the same loop handles.
struct ConnectionStateMachine {
    private enum Phase {
        /// The PROXY header or TLS handshake is incomplete. `until`: the deadline.
        case opening(until: NIODeadline)

        /// Requests are accepted and executed.
        case serving

        /// No requests are accepted. Those accepted are executed before this goodbye.
        case finishing(Goodbye)

        /// The goodbye is queued, and input is discarded. `until`: the time to close in any case, set by the next
        /// sweep.
        case leaving(until: NIODeadline?)

        case closed
    }

    private let maxHeldBytes: Int
    private let maxUnwrittenAnswerBytes: Int
    private let lingerTimeout: TimeAmount
    private var phase: Phase

    /// Actions already decided, which precede those that ``next()`` derives from the state.
    private var decided: [Action] = []

    private(set) var lines: LineIntake

    /// The number of the current line. A task with another number has timed out, and its responses are discarded.
    private(set) var turn = 0

    /// True if a JSON-RPC batch waits for room for its next response.
    private var isBatchWaiting = false

    private var isReading = false
    private(set) var hasInputEnded = false
    private var hasOutputEnded = false
    private var isClosing = false
    private var isSessionDismissed = false

    private(set) var queue: OutboundQueue

    /// True if queued lines must be written at the end of the turn. `isFlushArranged`: true once that is scheduled.
    private var wantsFlush = false
    private var isFlushArranged = false

    /// True if queued lines must be written now.
    private var mustFlush = false

    /// True if the due flush should wait one turn of the loop for the response to a request that is about to begin. A
    /// request that never leaves the loop completes within a turn.
    private var awaitsAnswer = false

    private var deadlines: ConnectionDeadlines

    /// - Parameters:
    ///   - writeBatchBytes: the size at which a batch of writes is complete.
    ///   - until: the deadline of the PROXY header and handshake.
    init(
        _ configuration: LineServer.Configuration, writeBatchBytes: Int, now: NIODeadline, opensUntil until: NIODeadline
    ) {
        maxHeldBytes = configuration.maxHeldBytes
        maxUnwrittenAnswerBytes = configuration.maxUnwrittenAnswerBytes
        lingerTimeout = TimeAmount(configuration.lingerTimeout)
        phase = .opening(until: until)
        lines = LineIntake(
            LineFramer(maxLineBytes: configuration.maxLineBytes), maxCount: configuration.maxInFlight)
        queue = OutboundQueue(maxQueueBytes: configuration.maxQueueBytes, targetBatchBytes: writeBatchBytes)
        deadlines = ConnectionDeadlines(configuration, now: now)
    }

    var isOpening: Bool { if case .opening = phase { true } else { false } }

    var isClosed: Bool { if case .closed = phase { true } else { false } }

    /// The bytes of unhandled requests and of unwritten responses.
    var queuedBytes: Int { lines.heldBytes + queue.unwrittenAnswerBytes }

    /// True once the goodbye is queued, after which no response is written.
    var isLeaving: Bool {
        switch phase {
        case .opening, .serving, .finishing: false
        case .leaving, .closed: true
        }
    }
}

extension ConnectionStateMachine {
    /// Returns the next action, or nil until another event.
    mutating func next() -> Action? {
        if !decided.isEmpty { return decided.removeFirst() }
        if case .serving = phase { lines.take() }
        if isBatchWaiting || hasWork {
            if hasRoom {
                if isBatchWaiting {
                    isBatchWaiting = false
                    return .resumeBatch
                }
                if let line = lines.begin() {
                    turn += 1
                    return .begin(line)
                }
            }
            if !queue.isWriteInFlight { mustFlush = true }
        }
        if queue.isWriteInFlight {
            // Queued lines are written when the write in flight completes.
            mustFlush = false
            wantsFlush = false
        }
        if mustFlush { return .flush }
        if isLeaving, !lines.isBusy, !isSessionDismissed {
            isSessionDismissed = true
            return .endSession
        }
        if let close = closing() { return close }
        if wantsRead {
            isReading = true
            return .read
        }
        if wantsFlush, !isFlushArranged {
            isFlushArranged = true
            return .flushLater
        }
        return nil
    }

    /// True if a line is ready to begin.
    private var hasWork: Bool {
        switch phase {
        case .serving, .finishing: lines.isReady
        case .opening, .leaving, .closed: false
        }
    }

    /// True if the client has made room for another response, or goodbye was said and there is no reason to wait.
    private var hasRoom: Bool { isLeaving || queue.unwrittenAnswerBytes <= maxUnwrittenAnswerBytes }

    /// True if there is room for input. Reading less is the back-pressure on the sender.
    private var wantsRead: Bool {
        guard !isReading, !hasInputEnded else { return false }
        return switch phase {
        case .serving: !lines.isFull && lines.heldBytes < maxHeldBytes
        case .finishing, .closed: false
        case .opening, .leaving: true
        }
    }

    /// Returns the action that closes the connection if no work is left.
    private mutating func closing() -> Action? {
        guard !isClosing else { return nil }
        switch phase {
        case .opening:
            return hasInputEnded ? close(.cut) : nil
        case .serving:
            // Queued lines are already scheduled, and the end of the write leads here again.
            return hasInputEnded && lines.isEmpty && queue.isEmpty ? close(.whole) : nil
        case .finishing(let goodbye):
            guard lines.isEmpty else { return nil }
            leave(goodbye, keepingAnswers: true)
            return next()
        case .leaving:
            guard queue.isEmpty else { return nil }
            if hasInputEnded { return close(.whole) }
            guard !hasOutputEnded else { return nil }
            hasOutputEnded = true
            return .close(.output)
        case .closed:
            return nil
        }
    }

    private mutating func close(_ how: Close) -> Action {
        isClosing = true
        return .close(how)
    }
}

extension ConnectionStateMachine {
    /// Sets the deadline of the PROXY header and handshake.
    mutating func mustOpen(by deadline: NIODeadline) {
        if case .opening = phase { phase = .opening(until: deadline) }
    }

    /// Opens the connection with a greeting. The rest of the handshake's time is left for signing in.
    mutating func open(with hello: ByteBuffer) {
        guard case .opening(let deadline) = phase else { return }
        phase = .serving
        deadlines.expiry = (deadline, Goodbye(.authenticationTimeout, "The connection was not authenticated in time."))
        send(hello)
    }

    /// Opens the connection and says goodbye to a client that is not served.
    mutating func open(with goodbye: Goodbye) {
        guard case .opening = phase else { return }
        phase = .serving
        leave(goodbye, keepingAnswers: true)
    }

    /// Receives input.
    mutating func read(_ bytes: ByteBuffer) {
        if case .serving = phase { lines.feed(bytes) }
    }

    /// Notes the end of a requested read.
    mutating func readIsOver() { isReading = false }

    /// Notes the end of the input.
    mutating func inputIsOver() { hasInputEnded = true }

    /// Waits for room for the next response of a batch, until ``Action/resumeBatch``.
    mutating func awaitRoom() { isBatchWaiting = true }

    /// Sets the start of the current request, or nil at its end.
    mutating func requestBegan(at now: NIODeadline?) { deadlines.requestBegan = now }

    /// Queues a response.
    ///
    /// - Parameter isWhole: true if it is a line, and not a part of a batch's response.
    mutating func answer(_ content: Answer.Content, id: JSON, isWhole: Bool) {
        queue.answer(content, id: id, isWhole: isWhole)
        wantsFlush = true
        // Responses to requests that already wait share a write.
        awaitsAnswer = !isWhole || lines.waitingCount > 0
    }

    /// Ends the response to a JSON-RPC batch, if one is open.
    mutating func endBatch() {
        guard queue.isAnswerOpen else { return }
        queue.endBatch()
        wantsFlush = true
        awaitsAnswer = false
    }

    /// Joins the next line to the current one, if it may begin and `read` accepts it.
    mutating func joinLine<Content>(_ read: (ByteBuffer) -> Content?) -> Content? {
        hasRoom && !isLeaving ? lines.join(read) : nil
    }

    /// Ends the current line.
    mutating func lineIsDone() {
        deadlines.requestBegan = nil
        lines.end()
    }

    /// Starts the flush that is due at the end of the turn.
    ///
    /// - Returns: false if the flush should wait for another turn. Then this is called again.
    mutating func flushIsDue() -> Bool {
        if awaitsAnswer, queue.unwrittenAnswerBytes < queue.targetBatchBytes {
            awaitsAnswer = false
            return false
        }
        isFlushArranged = false
        mustFlush = true
        return true
    }

    /// Notes that a push was written at once. If `isWhole` is false, call ``writeCompleted()`` once the kernel has
    /// accepted the rest. Otherwise no action becomes due.
    mutating func wroteDirectly(_ push: Push, _ now: NIODeadline, isWhole: Bool) {
        queue.wroteDirectly(push, isWhole: isWhole)
        deadlines.lastSent = now
    }

    /// Takes the next write batch. Call ``writeCompleted()`` once the kernel has accepted it.
    mutating func nextWriteBatch(_ now: NIODeadline) -> [ByteBuffer] {
        mustFlush = false
        wantsFlush = false
        let batch = queue.nextWriteBatch()
        if !batch.isEmpty { deadlines.lastSent = now }
        return batch
    }

    /// Notes that the kernel has accepted the write in flight.
    mutating func writeCompleted() {
        queue.writeCompleted()
        deadlines.writeCompleted(needsLagNotice: queue.needsLagNotice)
        mustFlush = !queue.isEmpty
    }

    /// Accepts no more requests, executes those accepted, then says goodbye.
    mutating func finish(_ goodbye: Goodbye) {
        switch phase {
        case .opening: cut()
        case .serving: phase = .finishing(goodbye)
        case .finishing, .leaving, .closed: break
        }
    }

    /// Says goodbye and closes. Requests that have not begun are dropped.
    ///
    /// - Parameter keepingAnswers: true if queued responses are still written.
    mutating func leave(_ goodbye: Goodbye, keepingAnswers: Bool) {
        switch phase {
        case .serving, .finishing: break
        case .opening: return cut()
        case .leaving, .closed: return
        }
        decided.append(.count(.goodbye(goodbye.code)))
        phase = .leaving(until: nil)
        awaitsAnswer = false
        lines.forget()
        queue.close(with: ServerLines.goodbye(goodbye), keepingAnswers: keepingAnswers)
        wantsFlush = true
    }

    /// Closes at once.
    mutating func cut() { decided.append(.close(.cut)) }

    /// Notes that the connection is closed.
    mutating func close() {
        phase = .closed
        decided = []
        isFlushArranged = false
        wantsFlush = false
        mustFlush = false
        lines.forget()
        queue.abandon()
    }

    private mutating func send(_ line: ByteBuffer) {
        queue.answer(line)
        wantsFlush = true
    }
}

extension ConnectionStateMachine {
    /// Starts live sync from a cursor.
    mutating func startPushes(cursor: String) {
        queue.startPushes(cursor: cursor)
        deadlines.laggedSince = nil
    }

    /// Stops live sync.
    mutating func stopPushes() {
        queue.stopPushes()
        deadlines.laggedSince = nil
    }

    /// Queues a push for the next flush.
    mutating func push(_ push: Push, _ now: @autoclosure () -> NIODeadline) {
        if queue.push(push) {
            // Writes a burst while it arrives, so that it does not exceed the bound within one turn.
            if queue.isWriteBatchReady { mustFlush = true } else if !queue.isWriteInFlight { wantsFlush = true }
        } else {
            noteLag(now())
        }
    }

    /// Drops the queued pushes and sends a lag notice.
    mutating func fallBehind(_ now: NIODeadline) {
        queue.fallBehind()
        noteLag(now)
    }

    private mutating func noteLag(_ now: NIODeadline) {
        decided.append(.count(.lagged))
        deadlines.laggedSince = now
        wantsFlush = true
    }

    /// Sets the cursor that the client reaches once it has read the queued pushes.
    mutating func noteCursor(_ cursor: String) { queue.noteCursor(cursor) }

    /// Replaces the sign-in deadline or an earlier expiry. nil removes it.
    mutating func setExpiry(_ expiry: Expiry?, _ now: NIODeadline) {
        deadlines.setExpiry(expiry, now)
    }

    /// Decides the actions that are due.
    ///
    /// - Parameter unsentBytes: returns the bytes of the write in flight that the kernel has not accepted.
    mutating func sweep(_ now: NIODeadline, unsentBytes: () -> Int) {
        if deadlines.isRequestOverdue(now) {
            turn += 1
            decided.append(.timeOutRequest)
        }
        switch phase {
        case .opening(let deadline):
            if deadline <= now { decided.append(.timeOutHandshake) }
        case .serving, .finishing:
            switch deadlines.due(now, queue, unsentBytes) {
            case .leave(let goodbye, let keepingAnswers): leave(goodbye, keepingAnswers: keepingAnswers)
            case .ping: send(ServerLines.ping(cursor: queue.cursor))
            case nil: break
            }
        case .leaving(nil):
            phase = .leaving(until: now + lingerTimeout)
        case .leaving(let deadline?):
            if deadline <= now { cut() }
        case .closed:
            break
        }
    }
}
