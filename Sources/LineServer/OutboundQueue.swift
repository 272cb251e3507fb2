import Messaging
import NIOCore

/// What waits to be written to one client, in order, and what becomes of it when the client reads too slowly
/// (`docs/protocol.md`, section 4).
///
/// Lines leave in flights: one is with the socket at a time, and the next is given when that has landed, so that what
/// the queue holds is what the client has not made room for. Answers are never dropped: whoever makes them is to wait
/// while ``unwrittenAnswerBytes`` is large. Pushes are bounded: past the bound those queued are dropped, and the client
/// is told with `sync.lagged` as soon as it reads again.
struct OutboundQueue {
    /// How many bytes of pushes may wait.
    let maxQueueBytes: Int

    /// About how many bytes one flight has: it ends with the line that reaches this.
    let flightBytes: Int

    /// Whether pushes are taken.
    private(set) var isLive = false

    /// Whether pushes were dropped and the client does not know it yet.
    private(set) var isLagged = false

    /// Whether the client was told of it in the flight that is out.
    private var isTelling = false

    /// How far the client is once it has read all that was handed to the socket.
    private var handedCursor = ""

    /// The entries from `head` on wait; an array that is empty holds no memory, which is what most connections have.
    private var entries: [Entry] = []
    private var head = 0

    private var queuedPushBytes = 0

    /// The bytes of answers that wait or are with the socket.
    private(set) var unwrittenAnswerBytes = 0

    private var flightAnswerBytes = 0

    /// Whether a flight is with the socket.
    private(set) var isFlying = false

    /// Whether the last line is queued or gone: nothing is taken any more.
    private(set) var isClosed = false

    private enum Entry {
        case answer(ByteBuffer)
        case push(Push)
    }

    init(maxQueueBytes: Int, flightBytes: Int = 1 << 16) {
        self.maxQueueBytes = maxQueueBytes
        self.flightBytes = flightBytes
    }

    /// The bytes that the client has not made room for.
    var waitingBytes: Int { self.queuedPushBytes + self.unwrittenAnswerBytes }

    /// Whether everything has landed.
    var isEmpty: Bool { !self.isFlying && self.head == self.entries.count && !(self.isLagged && !self.isTelling) }

    /// Whether the pushes that wait would fill a flight, and none is out.
    var isFlightWaiting: Bool { !self.isFlying && self.queuedPushBytes >= self.flightBytes }

    /// How far the client is, for `server.ping`; nil where nothing is pushed.
    var cursor: String? { self.isLive ? self.handedCursor : nil }

    /// Queues an answer, or another line that must not be dropped.
    mutating func answer(_ line: ByteBuffer) {
        guard !self.isClosed else { return }
        self.unwrittenAnswerBytes += line.readableBytes
        self.entries.append(.answer(line))
    }

    /// Queues a push, or ignores it where none is wanted.
    ///
    /// - Returns: false where this push was one too many, and the client has fallen behind.
    mutating func push(_ push: Push) -> Bool {
        guard self.isLive, !self.isClosed else { return true }
        guard self.queuedPushBytes + push.line.readableBytes <= self.maxQueueBytes else {
            self.fallBehind()
            return false
        }
        self.queuedPushBytes += push.line.readableBytes
        self.entries.append(.push(push))
        return true
    }

    /// Drops the pushes that wait: the client is to be told from where it has to ask for them.
    mutating func fallBehind() {
        guard self.isLive, !self.isClosed else { return }
        self.dropPushes()
        self.isLive = false
        self.isLagged = true
    }

    /// Wants pushes from here on, and whatever was queued or dropped before is of no account.
    mutating func startPushes(cursor: String) {
        guard !self.isClosed else { return }
        self.dropPushes()
        self.isLive = true
        self.isLagged = false
        self.isTelling = false
        self.handedCursor = cursor
    }

    /// Wants no pushes, neither those queued nor later ones.
    mutating func stopPushes() {
        self.dropPushes()
        self.isLive = false
        self.isLagged = false
        self.isTelling = false
    }

    /// The client is this far once it has read what is queued.
    mutating func noteCursor(_ cursor: String) {
        guard self.isLive else { return }
        for index in self.entries[self.head...].indices.reversed() {
            if case .push(let push) = self.entries[index] {
                self.entries[index] = .push(Push(line: push.line, cursor: cursor))
                return
            }
        }
        self.handedCursor = cursor
    }

    /// Queues the last line. Queued pushes are dropped.
    ///
    /// - Parameter keepingAnswers: whether queued answers still go before it.
    mutating func close(with line: ByteBuffer, keepingAnswers: Bool) {
        guard !self.isClosed else { return }
        self.stopPushes()
        if !keepingAnswers {
            self.entries = []
            self.head = 0
            self.unwrittenAnswerBytes = self.flightAnswerBytes
        }
        self.answer(line)
        self.isClosed = true
    }

    /// The lines to hand to the socket now; empty while a flight is out, or where nothing waits.
    mutating func takeFlight() -> [ByteBuffer] {
        guard !self.isFlying else { return [] }
        var lines: [ByteBuffer] = []
        var bytes = 0
        if self.isLagged, !self.isTelling {
            self.isTelling = true
            let line = ServerLines.lagged(cursor: self.handedCursor)
            bytes += line.readableBytes
            lines.append(line)
        }
        while self.head < self.entries.count, bytes < self.flightBytes {
            let line: ByteBuffer
            switch self.entries[self.head] {
            case .answer(let answer):
                line = answer
                self.flightAnswerBytes += line.readableBytes
            case .push(let push):
                line = push.line
                self.queuedPushBytes -= line.readableBytes
                self.handedCursor = push.cursor
            }
            bytes += line.readableBytes
            lines.append(line)
            self.head += 1
        }
        if self.head == self.entries.count {
            self.entries = []
            self.head = 0
        } else if self.head > 64 {
            // Entries that are gone would hold on to their lines.
            self.entries.removeFirst(self.head)
            self.head = 0
        }
        self.isFlying = !lines.isEmpty
        return lines
    }

    /// The flight that was out is with the kernel.
    mutating func landed() {
        self.isFlying = false
        self.unwrittenAnswerBytes -= self.flightAnswerBytes
        self.flightAnswerBytes = 0
        if self.isTelling {
            self.isTelling = false
            self.isLagged = false
        }
    }

    private mutating func dropPushes() {
        guard self.queuedPushBytes > 0 else { return }
        self.entries.removeSubrange(..<self.head)
        self.head = 0
        self.entries.removeAll { if case .push = $0 { true } else { false } }
        self.queuedPushBytes = 0
    }
}
