import Messaging
import NIOCore

/// What waits to be written to one client, in order, and what becomes of it when the client reads too slowly
/// (`docs/protocol.md`, section 4).
///
/// Lines leave in flights: one is with the socket at a time, and the next is given when that has landed, so that what
/// the queue holds is what the client has not made room for. Answers are never dropped: whoever makes them is to wait
/// while ``unwrittenAnswerBytes`` is large. Pushes are bounded: past the bound those queued are dropped, and the client
/// is told with `sync.lagged` as soon as it reads again.
///
/// A batch's answer is queued part by part. Until its last part is, pushes wait, within the same bound: nothing stands
/// inside a line.
struct OutboundQueue {
    /// How many bytes of pushes may wait.
    let maxQueueBytes: Int

    /// About how many bytes one flight has: it ends with the line that reaches this. An answer that is larger is cut, so
    /// that TLS does not hold all of it a second time.
    let targetBatchBytes: Int

    /// Whether pushes are taken.
    private(set) var isLive = false

    /// Whether pushes were dropped and the client does not know it yet.
    private(set) var needsLagNotice = false

    /// Whether the client was told of it in the flight that is out.
    private var isLagNoticeInFlight = false

    /// How far the client is once it has read all that was handed to the socket.
    private var handedCursor = ""

    /// The entries from `head` on wait; an array that is empty holds no memory, which is what most connections have.
    private var entries: [Entry] = []
    private var head = 0

    /// What is left of the answer that the last flight ended with. It is not dropped: its beginning is out.
    private var rest = ByteBuffer()

    /// Whether the last bytes handed to the socket were the end of a line.
    private var isAtLineEnd = true

    /// Whether an answer was begun and its last part is not queued yet.
    private(set) var isAnswerOpen = false

    /// The pushes that came since it was begun.
    private var heldPushes: [Push] = []

    private var queuedPushBytes = 0

    /// The bytes of answers that wait or are with the socket.
    private(set) var unwrittenAnswerBytes = 0

    private var answerBytesInFlight = 0

    /// Whether a flight is with the socket.
    private(set) var isWriteInFlight = false

    /// Whether the last line is queued or gone: nothing is taken any more.
    private(set) var isClosed = false

    private enum Entry {
        case answer(ByteBuffer)
        case push(Push)
    }

    init(maxQueueBytes: Int, targetBatchBytes: Int = 1 << 16) {
        self.maxQueueBytes = maxQueueBytes
        self.targetBatchBytes = targetBatchBytes
    }

    /// The bytes that the client has not made room for.
    var waitingBytes: Int { queuedPushBytes + unwrittenAnswerBytes }

    /// Whether everything has landed.
    var isEmpty: Bool {
        !isWriteInFlight && head == entries.count && rest.readableBytes == 0 && !isAnswerOpen
            && !(needsLagNotice && !isLagNoticeInFlight)
    }

    /// Whether the pushes that wait would fill a flight, and none is out.
    var isWriteBatchReady: Bool { !isWriteInFlight && !isAnswerOpen && queuedPushBytes >= targetBatchBytes }

    /// How far the client is, for `server.ping`; nil where nothing is pushed.
    var cursor: String? { isLive ? handedCursor : nil }

    /// Queues an answer, or another line that must not be dropped.
    ///
    /// - Parameter isWhole: whether the line ends with this; otherwise other parts of it follow, one of which ends it.
    mutating func answer(_ line: ByteBuffer, isWhole: Bool = true) {
        guard !isClosed else { return }
        unwrittenAnswerBytes += line.readableBytes
        entries.append(.answer(line))
        isAnswerOpen = !isWhole
        guard isWhole, !heldPushes.isEmpty else { return }
        entries += heldPushes.map { .push($0) }
        heldPushes = []
    }

    /// Queues an answer: a line, or a part of a batch's, which ``endBatch()`` ends.
    mutating func answer(_ content: Answer.Content, id: JSON, isWhole: Bool) {
        guard !isClosed else { return }
        var line = ByteBuffer()
        if !isWhole { line.writeStaticString(isAnswerOpen ? "," : "[") }
        line.writeAnswer(id: id, content)
        if isWhole { line.writeStaticString("\n") }
        self.answer(line, isWhole: isWhole)
    }

    /// Ends a batch's answer; nothing where none was begun.
    mutating func endBatch() {
        if isAnswerOpen { answer(Self.batchEnd) }
    }

    private static let batchEnd = ByteBuffer(string: "]\n")

    /// Queues a push, or ignores it where none is wanted.
    ///
    /// - Returns: false where this push was one too many, and the client has fallen behind.
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

    /// Makes a push the flight that is out, where nothing is to leave before it: past the queue, which costs more than a
    /// push among a thousand should.
    ///
    /// - Returns: false where it is to be queued, or is not wanted.
    mutating func beginDirectWrite(_ push: Push) -> Bool {
        guard isLive, !isClosed, isEmpty, push.line.readableBytes <= maxQueueBytes else { return false }
        handedCursor = push.cursor ?? handedCursor
        isWriteInFlight = true
        return true
    }

    /// Drops the pushes that wait: the client is to be told from where it has to ask for them.
    mutating func fallBehind() {
        guard isLive, !isClosed else { return }
        dropPushes()
        isLive = false
        needsLagNotice = true
    }

    /// Wants pushes from here on, and whatever was queued or dropped before is of no account.
    mutating func startPushes(cursor: String) {
        guard !isClosed else { return }
        dropPushes()
        isLive = true
        needsLagNotice = false
        isLagNoticeInFlight = false
        handedCursor = cursor
    }

    /// Wants no pushes, neither those queued nor later ones.
    mutating func stopPushes() {
        dropPushes()
        isLive = false
        needsLagNotice = false
        isLagNoticeInFlight = false
    }

    /// The client is this far once it has read what is queued.
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

    /// Queues the last line. Queued pushes are dropped. A batch that is not answered to its end ends with the answers
    /// that it has, so that what the client gets are lines.
    ///
    /// - Parameter keepingAnswers: whether queued answers still go before it.
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

    /// Lets go of everything: there is nobody to write to.
    mutating func abandon() {
        self = OutboundQueue(maxQueueBytes: self.maxQueueBytes, targetBatchBytes: self.targetBatchBytes)
        isClosed = true
    }

    /// The lines to hand to the socket now; empty while a flight is out, or where nothing waits.
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

    /// Takes off what is handed to the socket next.
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
        // An entry that is gone is not to hold on to its line.
        entries[head] = .answer(ByteBuffer())
        head += 1
        if case .push(let push) = entry { queuedPushBytes -= push.line.readableBytes }
        return entry
    }

    /// The flight that was out is with the kernel.
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
