import Messaging
import NIOCore

/// One connection as a value: what was read and is not done, what is queued and not written, and what its phase allows.
///
/// It touches no socket and looks at no clock. Whoever holds it tells it what has happened, and then does what ``next()``
/// says, until that says nothing more: what an action brings about at once is told in the midst of it, and is a matter of
/// the same loop.
struct ConnectionState {
    private enum Phase {
        /// What comes before lines is not done. `until`: when the connection is closed otherwise.
        case opening(until: NIODeadline)

        /// Requests are taken and done.
        case serving

        /// No more requests are taken; those that were are done before this is said.
        case finishing(Goodbye)

        /// The goodbye is queued; what still comes is discarded. `until`: when the connection is closed in any case; nil
        /// until the next sweep.
        case leaving(until: NIODeadline?)

        case closed
    }

    private let maxHeldBytes: Int
    private let maxUnwrittenAnswerBytes: Int
    private let lingerTimeout: TimeAmount
    private var phase: Phase

    /// What was decided by itself, before all that ``next()`` sees from the state.
    private var decided: [Action] = []

    private(set) var lines: LineIntake

    /// The number of the line at work. What a line that was given up answers is known by its old number.
    private(set) var turn = 0

    /// Whether a batch waits for room for the answer to its next request.
    private var isBatchWaiting = false

    private var isReading = false
    private var hasInputEnded = false
    private var hasOutputEnded = false
    private var isClosing = false
    private var isSessionDismissed = false

    private(set) var queue: OutboundQueue

    /// Whether something is queued that leaves at the end of the turn, and whether that is arranged.
    private var wantsFlush = false
    private var isFlushArranged = false

    /// Whether what is queued leaves now.
    private var mustFlush = false

    /// Whether the flush that is due had better wait a turn of the loop, for the answer to a request that is about to
    /// begin: one that is done without leaving the loop is done within a turn.
    private var awaitsAnswer = false

    private var deadlines: ConnectionDeadlines

    /// - Parameter until: when what comes before lines is to be done.
    init(_ configuration: LineServer.Configuration, now: NIODeadline, opensUntil until: NIODeadline) {
        maxHeldBytes = configuration.maxHeldBytes
        maxUnwrittenAnswerBytes = configuration.maxUnwrittenAnswerBytes
        lingerTimeout = TimeAmount(configuration.lingerTimeout)
        phase = .opening(until: until)
        lines = LineIntake(
            LineFramer(maxLineBytes: configuration.maxLineBytes), maxCount: configuration.maxInFlight)
        queue = OutboundQueue(maxQueueBytes: configuration.maxQueueBytes)
        deadlines = ConnectionDeadlines(configuration, now: now)
    }

    var isOpening: Bool { if case .opening = phase { true } else { false } }

    var isClosed: Bool { if case .closed = phase { true } else { false } }

    /// Whether goodbye was said, so that no answer would arrive.
    var isLeaving: Bool {
        switch phase {
        case .opening, .serving, .finishing: false
        case .leaving, .closed: true
        }
    }
}

extension ConnectionState {
    /// What is to be done now; nil until something happens.
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
            // What is queued leaves when that has landed.
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

    /// Whether a line waits that may begin.
    private var hasWork: Bool {
        switch phase {
        case .serving, .finishing: lines.isReady
        case .opening, .leaving, .closed: false
        }
    }

    /// Whether the client has made room for another answer, or goodbye was said and there is nothing to wait for.
    private var hasRoom: Bool { isLeaving || queue.unwrittenAnswerBytes <= maxUnwrittenAnswerBytes }

    /// Whether there is room for more: reading less is what slows the sender down.
    private var wantsRead: Bool {
        guard !isReading, !hasInputEnded else { return false }
        return switch phase {
        case .serving: !lines.isFull && lines.heldBytes < maxHeldBytes
        case .finishing, .closed: false
        case .opening, .leaving: true
        }
    }

    /// How the connection ends where it has nothing left to do.
    private mutating func closing() -> Action? {
        guard !isClosing else { return nil }
        switch phase {
        case .opening:
            return hasInputEnded ? close(.cut) : nil
        case .serving:
            // What is queued is on its way out already, and this is asked again when it has landed.
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

extension ConnectionState {
    /// What comes before lines must be done by then.
    mutating func mustOpen(by deadline: NIODeadline) {
        if case .opening = phase { phase = .opening(until: deadline) }
    }

    /// What comes before lines is done: the client is greeted, and has the rest of its time to sign in.
    mutating func open(with hello: ByteBuffer) {
        guard case .opening(let deadline) = phase else { return }
        phase = .serving
        deadlines.expiry = (deadline, Goodbye(.authenticationTimeout, "The connection was not authenticated in time."))
        send(hello)
    }

    /// What comes before lines is done, and the client is not served.
    mutating func open(with goodbye: Goodbye) {
        guard case .opening = phase else { return }
        phase = .serving
        leave(goodbye, keepingAnswers: true)
    }

    /// Bytes have come.
    mutating func read(_ bytes: ByteBuffer) {
        if case .serving = phase { lines.feed(bytes) }
    }

    /// The read that was asked for is over.
    mutating func readIsOver() { isReading = false }

    /// Nothing more will come.
    mutating func inputIsOver() { hasInputEnded = true }

    /// A batch goes on once there is room for its next answer: ``Action/resumeBatch``.
    mutating func awaitRoom() { isBatchWaiting = true }

    /// The session is at work on a request of the line from now on; nil: it no longer is.
    mutating func requestBegan(at now: NIODeadline?) { deadlines.requestBegan = now }

    /// Queues an answer.
    ///
    /// - Parameter isWhole: whether the line ends with this, and is not a part of a batch's answer.
    mutating func answer(_ content: Answer.Content, id: JSON, isWhole: Bool) {
        queue.answer(content, id: id, isWhole: isWhole)
        wantsFlush = true
        // Answers to requests that were already waiting share a write.
        awaitsAnswer = !isWhole || lines.waitingCount > 0
    }

    /// Ends a batch's answer, where there is one.
    mutating func endBatch() {
        guard queue.isAnswerOpen else { return }
        queue.endBatch()
        wantsFlush = true
        awaitsAnswer = false
    }

    /// Has the next line done together with that at work, where it may begin and `read` makes something of it.
    mutating func joinLine<Content>(_ read: (ByteBuffer) -> Content?) -> Content? {
        hasRoom && !isLeaving ? lines.join(read) : nil
    }

    /// What is at work is done.
    mutating func lineIsDone() {
        deadlines.requestBegan = nil
        lines.end()
    }

    /// What was to leave at the end of the turn leaves now.
    ///
    /// - Returns: false where it had better wait for another turn: this is asked again then.
    mutating func flushIsDue() -> Bool {
        if awaitsAnswer, queue.unwrittenAnswerBytes < queue.targetBatchBytes {
            awaitsAnswer = false
            return false
        }
        isFlushArranged = false
        mustFlush = true
        return true
    }

    /// Makes a push the flight that is out; false where it is to be queued, or is not wanted.
    mutating func beginDirectWrite(_ push: Push, _ now: NIODeadline) -> Bool {
        guard queue.beginDirectWrite(push) else { return false }
        deadlines.lastSent = now
        return true
    }

    /// The lines to hand to the socket now; ``writeCompleted()`` is told when the kernel has them.
    mutating func nextWriteBatch(_ now: NIODeadline) -> [ByteBuffer] {
        mustFlush = false
        wantsFlush = false
        let batch = queue.nextWriteBatch()
        if !batch.isEmpty { deadlines.lastSent = now }
        return batch
    }

    /// The kernel has taken the flight that was out.
    mutating func writeCompleted() {
        queue.writeCompleted()
        deadlines.writeCompleted(needsLagNotice: queue.needsLagNotice)
        mustFlush = !queue.isEmpty
    }

    /// Takes nothing more, does what was taken, and says goodbye then.
    mutating func finish(_ goodbye: Goodbye) {
        switch phase {
        case .opening: cut()
        case .serving: phase = .finishing(goodbye)
        case .finishing, .leaving, .closed: break
        }
    }

    /// Says why and closes; what was taken and not begun is dropped.
    ///
    /// - Parameter keepingAnswers: whether answers that are queued still go before it.
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

    /// The connection is closed.
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

extension ConnectionState {
    /// Pushes are wanted from that cursor on.
    mutating func startPushes(cursor: String) {
        queue.startPushes(cursor: cursor)
        deadlines.laggedSince = nil
    }

    /// No push is wanted.
    mutating func stopPushes() {
        queue.stopPushes()
        deadlines.laggedSince = nil
    }

    /// Queues a push, which leaves with the next flush.
    mutating func push(_ push: Push, _ now: @autoclosure () -> NIODeadline) {
        if queue.push(push) {
            // A burst leaves while it comes, rather than to pile up past the bound within one turn.
            if queue.isWriteBatchReady { mustFlush = true } else if !queue.isWriteInFlight { wantsFlush = true }
        } else {
            noteLag(now())
        }
    }

    /// Drops the pushes that wait: the client is told so.
    mutating func fallBehind(_ now: NIODeadline) {
        queue.fallBehind()
        noteLag(now)
    }

    private mutating func noteLag(_ now: NIODeadline) {
        decided.append(.count(.lagged))
        deadlines.laggedSince = now
        wantsFlush = true
    }

    /// The client is this far once it has read what is queued.
    mutating func noteCursor(_ cursor: String) { queue.noteCursor(cursor) }

    /// Replaces the deadline by which the client had to sign in, or an earlier expiry; nil: there is none.
    mutating func setExpiry(_ expiry: Expiry?, _ now: NIODeadline) {
        deadlines.setExpiry(expiry, now)
    }

    /// Decides what is due.
    ///
    /// - Parameter unsentBytes: how much of the flight that is out the kernel has not taken yet.
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
