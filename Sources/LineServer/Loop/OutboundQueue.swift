import ChangeFeed
import Messaging
import NIOCore
import WireProtocol

/// The outbound queue of one client, in order, with its slow-consumer policy (`docs/protocol.md`, section 4).
///
/// Lines are written in batches, one in flight at a time, so the queue holds only bytes that the client has not made
/// room for. Responses are never dropped: their producer must wait while ``unwrittenAnswerBytes`` is large. Pushes are
/// bounded: beyond the bound all queued pushes are dropped, and the client gets the lag notice `sync.lagged` once it
/// reads again.
///
/// The response to a JSON-RPC batch is queued in parts. Until its last part is queued, pushes wait within the same
/// bound, so that no line is interrupted.
struct OutboundQueue {
    /// The maximum number of queued push bytes.
    let maxQueueBytes: Int

    /// The size in bytes at which a write batch is complete. A larger response is split, so that TLS does not hold a
    /// second copy of all of it.
    let targetBatchBytes: Int

    /// True if pushes are accepted.
    private(set) var isLive = false

    /// True if pushes were dropped and the client has not received the lag notice.
    private(set) var needsLagNotice = false

    /// True if the write in flight contains the lag notice.
    private var isLagNoticeInFlight = false

    /// The client's cursor once it has read all bytes handed to the socket.
    private var handedCursor = ""

    /// Queued entries, from `head` on. Most connections have none, and an empty array holds no memory.
    private var entries: [Entry] = []
    private var head = 0

    /// The remainder of a response whose beginning is written or in flight. It cannot be dropped.
    private var rest = ByteBuffer()

    /// True if the bytes handed to the socket so far end a line.
    private var isAtLineEnd = true

    /// True between the first and the last part of a response.
    private(set) var isAnswerOpen = false

    /// Pushes that wait for the end of the open response.
    private var heldPushes: [Push] = []

    private var queuedPushBytes = 0

    /// The response bytes that are queued or in flight.
    private(set) var unwrittenAnswerBytes = 0

    private var answerBytesInFlight = 0

    /// True if a write is in flight.
    private(set) var isWriteInFlight = false

    /// True once the last line is queued. Nothing more is accepted.
    private(set) var isClosed = false

    private enum Entry {
        case answer(ByteBuffer)
        case push(Push)
    }

    init(maxQueueBytes: Int, targetBatchBytes: Int) {
        self.maxQueueBytes = maxQueueBytes
        self.targetBatchBytes = targetBatchBytes
    }

    /// The bytes of pushes and responses that the client has not made room for. A push in flight does not count.
    var waitingBytes: Int { queuedPushBytes + unwrittenAnswerBytes }

    /// True if nothing is queued, pending or in flight.
    var isEmpty: Bool {
        !isWriteInFlight && head == entries.count && rest.readableBytes == 0 && !isAnswerOpen
            && !(needsLagNotice && !isLagNoticeInFlight)
    }

    /// True if the queued pushes fill a write batch and no write is in flight.
    var isWriteBatchReady: Bool { !isWriteInFlight && !isAnswerOpen && queuedPushBytes >= targetBatchBytes }

    /// The client's cursor for `server.ping`, or nil without live sync.
    var cursor: String? { isLive ? handedCursor : nil }

    /// Queues a response, or another line that must not be dropped.
    ///
    /// - Parameter isWhole: true if this ends the line. Otherwise further parts follow.
    mutating func answer(_ line: ByteBuffer, isWhole: Bool = true) {
        guard !isClosed else { return }
        unwrittenAnswerBytes += line.readableBytes
        entries.append(.answer(line))
        isAnswerOpen = !isWhole
        guard isWhole, !heldPushes.isEmpty else { return }
        entries += heldPushes.map { .push($0) }
        heldPushes = []
    }

    /// Queues a response: a line, or a part of a JSON-RPC batch that ``endBatch()`` ends.
    mutating func answer(_ content: Answer.Content, id: JSON, isWhole: Bool) {
        guard !isClosed else { return }
        var line = ByteBuffer()
        if !isWhole { line.writeStaticString(isAnswerOpen ? "," : "[") }
        line.writeAnswer(id: id, content)
        if isWhole { line.writeStaticString("\n") }
        self.answer(line, isWhole: isWhole)
    }

    /// Ends the response to a JSON-RPC batch, if one is open.
    mutating func endBatch() {
        if isAnswerOpen { answer(Self.batchEnd) }
    }

    private static let batchEnd = ByteBuffer(string: "]\n")

    /// Queues a push, or ignores it if the queue accepts none.
    ///
    /// - Returns: false if the push exceeded the bound and the client has fallen behind.
    mutating func push(_ push: Push) -> Bool {
        guard isLive, !isClosed else { return true }
        guard queuedPushBytes + push.line.readableBytes <= maxQueueBytes else {
            if push.cursor == nil { return true }
            fallBehind()
            return false
        }
        queuedPushBytes += push.line.readableBytes
        if isAnswerOpen { heldPushes.append(push) } else { entries.append(.push(push)) }
        return true
    }

    /// Returns true if a push may be written at once: it is wanted, and nothing is queued before it. This bypasses the
    /// queue, which is too expensive for one push among a thousand.
    func acceptsDirectWrite(_ push: Push) -> Bool {
        isLive && !isClosed && isEmpty && push.line.readableBytes <= maxQueueBytes
    }

    /// Notes that a push was written at once.
    ///
    /// - Parameter isWhole: false if the kernel has accepted only a part. The rest is then the write in flight.
    mutating func wroteDirectly(_ push: Push, isWhole: Bool) {
        handedCursor = push.cursor ?? handedCursor
        isWriteInFlight = !isWhole
    }

    /// Drops queued pushes and schedules the lag notice with the cursor to resync from.
    mutating func fallBehind() {
        guard isLive, !isClosed else { return }
        dropPushes()
        isLive = false
        needsLagNotice = true
    }

    /// Accepts pushes from this cursor on. Drops queued pushes and a pending lag notice.
    mutating func startPushes(cursor: String) {
        guard !isClosed else { return }
        dropPushes()
        isLive = true
        needsLagNotice = false
        isLagNoticeInFlight = false
        handedCursor = cursor
    }

    /// Stops accepting pushes and drops queued ones.
    mutating func stopPushes() {
        dropPushes()
        isLive = false
        needsLagNotice = false
        isLagNoticeInFlight = false
    }

    /// Sets the cursor that the client reaches once it has read the queued pushes.
    mutating func noteCursor(_ cursor: String) {
        guard isLive else { return }
        if let last = heldPushes.popLast() {
            heldPushes.append(Push(line: last.line, cursor: cursor))
            return
        }
        for index in entries[head...].indices.reversed() {
            if case .push(let push) = entries[index] {
                entries[index] = .push(Push(line: push.line, cursor: cursor))
                return
            }
        }
        handedCursor = cursor
    }

    /// Queues the last line and drops queued pushes. An open JSON-RPC batch is ended with the responses it has, so that
    /// the client receives whole lines.
    ///
    /// - Parameter keepingAnswers: true if queued responses are still written.
    mutating func close(with line: ByteBuffer, keepingAnswers: Bool) {
        guard !isClosed else { return }
        stopPushes()
        if !keepingAnswers {
            entries = []
            head = 0
            unwrittenAnswerBytes = answerBytesInFlight + rest.readableBytes
            isAnswerOpen = rest.readableBytes > 0 ? !rest.endsLine : !isAtLineEnd
        }
        endBatch()
        answer(line)
        isClosed = true
    }

    /// Drops everything. The client is gone.
    mutating func abandon() {
        self = OutboundQueue(maxQueueBytes: self.maxQueueBytes, targetBatchBytes: self.targetBatchBytes)
        isClosed = true
    }

    /// Takes the next write batch. Returns no lines if a write is in flight or nothing is queued.
    mutating func nextWriteBatch() -> [ByteBuffer] {
        guard !isWriteInFlight else { return [] }
        var lines: [ByteBuffer] = []
        var bytes = 0
        while bytes < targetBatchBytes, let next = self.next() {
            let line: ByteBuffer
            switch next {
            case .answer(var answer):
                if answer.readableBytes > targetBatchBytes, let part = answer.readSlice(length: targetBatchBytes) {
                    rest = answer
                    line = part
                } else {
                    line = answer
                }
                answerBytesInFlight += line.readableBytes
            case .push(let push):
                line = push.line
                handedCursor = push.cursor ?? handedCursor
            }
            isAtLineEnd = line.endsLine
            bytes += line.readableBytes
            lines.append(line)
        }
        if head == entries.count {
            entries = []
            head = 0
        } else if head > 64 {
            entries.removeFirst(head)
            head = 0
        }
        isWriteInFlight = !lines.isEmpty
        return lines
    }

    /// Takes the next entry off the queue.
    private mutating func next() -> Entry? {
        if rest.readableBytes > 0 {
            defer { rest = ByteBuffer() }
            return .answer(rest)
        }
        if needsLagNotice, !isLagNoticeInFlight, isAtLineEnd {
            isLagNoticeInFlight = true
            return .push(Push(line: ServerLines.lagged(cursor: handedCursor), cursor: handedCursor))
        }
        guard head < entries.count else { return nil }
        let entry = entries[head]
        // A removed entry must not retain its line.
        entries[head] = .answer(ByteBuffer())
        head += 1
        if case .push(let push) = entry { queuedPushBytes -= push.line.readableBytes }
        return entry
    }

    /// Notes that the kernel has accepted the write in flight.
    mutating func writeCompleted() {
        isWriteInFlight = false
        unwrittenAnswerBytes -= answerBytesInFlight
        answerBytesInFlight = 0
        if isLagNoticeInFlight {
            isLagNoticeInFlight = false
            needsLagNotice = false
        }
    }

    private mutating func dropPushes() {
        guard queuedPushBytes > 0 else { return }
        entries.removeSubrange(..<head)
        head = 0
        entries.removeAll { if case .push = $0 { true } else { false } }
        heldPushes = []
        queuedPushBytes = 0
    }
}

extension ByteBuffer {
    fileprivate var endsLine: Bool { readableBytesView.last == UInt8(ascii: "\n") }
}
