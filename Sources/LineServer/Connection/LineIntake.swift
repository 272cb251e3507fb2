import NIOCore

/// The lines that a client has sent and that are not done: cut from bytes, waiting, or at work, one at a time or some that
/// are done together.
///
/// It knows how much storage they hold: a line is a slice of the bytes in which it came, and a few of its bytes may hold
/// much.
struct LineIntake {
    /// A line that waits.
    private struct Waiting {
        var event: LineFramer.Event

        /// The storage that nothing holds any more once this and all before it are done, in bytes.
        var storage: Int
    }

    private var framer: LineFramer
    private let maxCount: Int

    /// Those that wait stand from `head` on; an array that is empty holds no memory.
    private var waiting: [Waiting] = []
    private var head = 0

    /// The storage that lines hold, those at work included, and that of these alone, in bytes.
    private var lineBytes = 0
    private var workBytes = 0

    /// How many lines are at work.
    private var workCount = 0

    /// - Parameter maxCount: how many lines may wait or be at work.
    init(_ framer: LineFramer, maxCount: Int) {
        self.framer = framer
        self.maxCount = maxCount
    }

    /// The storage of all that came and is not done, in bytes.
    var heldBytes: Int { framer.heldBytes + lineBytes }

    /// Whether as many lines are taken as may be.
    var isFull: Bool { waitingCount + workCount >= maxCount }

    /// Whether a line is at work.
    var isBusy: Bool { workCount > 0 }

    /// How many lines wait.
    var waitingCount: Int { waiting.count - head }

    private var hasWaiting: Bool { head < waiting.count }

    /// Whether a line waits, and none is at work.
    var isReady: Bool { hasWaiting && !isBusy }

    /// Whether no line waits, and none is at work.
    var isEmpty: Bool { !hasWaiting && !isBusy }

    /// Takes the bytes that came next.
    mutating func feed(_ bytes: ByteBuffer) { framer.feed(bytes) }

    /// Takes as many of the lines that have come as may be.
    mutating func take() {
        while !isFull {
            let event = framer.next()
            let storage = framer.takeReleasedBytes()
            if let event {
                waiting.append(Waiting(event: event, storage: storage))
            } else if hasWaiting {
                waiting[waiting.count - 1].storage += storage
            } else if isBusy {
                workBytes += storage
            } else {
                return
            }
            lineBytes += storage
            if event == nil { return }
        }
    }

    /// Takes up the line that has waited longest; nil where none is ready.
    mutating func begin() -> LineFramer.Event? { isReady ? takeUp() : nil }

    /// Takes up the line that has waited longest together with those at work, where `read` makes something of it.
    mutating func join<Content>(_ read: (ByteBuffer) -> Content?) -> Content? {
        guard isBusy, hasWaiting, case .line(let line) = waiting[head].event, let content = read(line) else {
            return nil
        }
        _ = takeUp()
        return content
    }

    private mutating func takeUp() -> LineFramer.Event {
        let line = waiting[head]
        // A line that is being done is its task's; nothing else is to hold on to it.
        waiting[head].event = .tooLong
        head += 1
        if head == waiting.count {
            waiting = []
            head = 0
        } else if head > 64 {
            waiting.removeFirst(head)
            head = 0
        }
        workBytes += line.storage
        workCount += 1
        return line.event
    }

    /// What is at work is done.
    mutating func end() {
        workCount = 0
        lineBytes -= workBytes
        workBytes = 0
    }

    /// Drops all but what is at work, and takes nothing more.
    mutating func forget() {
        waiting = []
        head = 0
        lineBytes = workBytes
        framer = LineFramer(maxLineBytes: 0)
    }
}
