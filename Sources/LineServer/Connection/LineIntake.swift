import Messaging
import NIOCore

/// The lines of a client that are received and not done. They wait or are current: one at a time, or several that are
/// executed together.
///
/// It counts the storage that lines retain, since a line is a slice of the input and a few bytes may retain much.
struct LineIntake {
    /// A waiting line.
    private struct Waiting {
        var event: LineFramer.Event

        /// The storage in bytes that is released once this line and all before it are done.
        var storage: Int
    }

    private var framer: LineFramer
    private let maxCount: Int

    /// Waiting lines, from `head` on. An empty array holds no memory.
    private var waiting: [Waiting] = []
    private var head = 0

    /// The storage of all lines in bytes. `workBytes`: that of the current lines.
    private var lineBytes = 0
    private var workBytes = 0

    /// The number of current lines.
    private var workCount = 0

    /// - Parameter maxCount: the maximum number of waiting and current lines.
    init(_ framer: LineFramer, maxCount: Int) {
        self.framer = framer
        self.maxCount = maxCount
    }

    /// The storage of all unexecuted input, in bytes.
    var heldBytes: Int { framer.heldBytes + lineBytes }

    /// True if no more lines are accepted.
    var isFull: Bool { waitingCount + workCount >= maxCount }

    /// True if a line is current.
    var isBusy: Bool { workCount > 0 }

    /// The number of waiting lines.
    var waitingCount: Int { waiting.count - head }

    private var hasWaiting: Bool { head < waiting.count }

    /// True if a line waits and none is current.
    var isReady: Bool { hasWaiting && !isBusy }

    /// True if no line waits or is current.
    var isEmpty: Bool { !hasWaiting && !isBusy }

    /// Receives input.
    mutating func feed(_ bytes: ByteBuffer) { framer.feed(bytes) }

    /// Accepts received lines, as many as the bound permits.
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

    /// Begins the oldest waiting line. Returns nil if none is ready.
    mutating func begin() -> LineFramer.Event? { isReady ? takeUp() : nil }

    /// Joins the oldest waiting line to the current ones, if `read` accepts it.
    mutating func join<Content>(_ read: (ByteBuffer) -> Content?) -> Content? {
        guard isBusy, hasWaiting, case .line(let line) = waiting[head].event, let content = read(line) else {
            return nil
        }
        _ = takeUp()
        return content
    }

    private mutating func takeUp() -> LineFramer.Event {
        let line = waiting[head]
        // The task owns its line. Nothing else may retain it.
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

    /// Ends the current lines.
    mutating func end() {
        workCount = 0
        lineBytes -= workBytes
        workBytes = 0
    }

    /// Drops all lines but the current ones, and accepts no more.
    mutating func forget() {
        waiting = []
        head = 0
        lineBytes = workBytes
        framer = LineFramer(maxLineBytes: 0)
    }
}
