import ChangeFeed
import DatabaseAccess
import Foundations

/// The texts of one client, in their order, and the continuation that resumes the client.
struct SendWaiter<Continuation: Sendable>: Sendable {
    let texts: [OutgoingText]
    let continuation: Continuation
}

/// The queue of texts to send, without I/O: decides what begins when a text arrives or a batch ends (``SendBatcher``).
///
/// - Parameters:
///   - Continuation: resumes a client.
///   - Sender: resumes a task that sends batches.
struct SendQueue<Continuation: Sendable, Sender> {
    typealias Waiter = SendWaiter<Continuation>

    /// An action for the caller to perform.
    enum Step {
        /// The waiter has exceeded the wait timeout.
        case timedOut(Waiter)

        /// The single text of the waiter is in flight; its client sends it.
        case individually(Waiter)

        /// The waiters are a batch in flight, for the sender. An empty batch ends the sender.
        case batch([Waiter], Sender)

        /// No sender is idle: each client sends its own texts.
        case unbatched([Waiter])
    }

    /// The most batches in flight. Two at all times would make batches half as large, and the same texts would take the
    /// database longer (docs/performance.md), so the second begins only with a full batch, or as a single text while few
    /// are sent.
    static var maxBatchesInFlight: Int { 2 }

    /// The most texts of a batch.
    static var maxBatchSize: Int { 64 }

    private var waiting: WaitingQueue<Waiter>
    private var waitingTexts = 0

    /// The number of batches in flight, single texts included, and the conversations of their texts.
    private var batchesInFlight = 0
    private var conversationsInFlight: [ID: Int] = [:]

    /// The number of texts in flight, and of the batch that ended last.
    private var textsInFlight = 0
    private var lastBatchSize = 0

    private var idleSenders: [Sender] = []
    private var isStopped = false

    /// - Parameter waitTimeout: the longest wait of a text in the queue.
    init(waitTimeout: Duration) { waiting = WaitingQueue(waitTimeout: waitTimeout) }

    /// Adds the texts of a client.
    ///
    /// - Returns: nil if the client must send its single text itself, at once.
    mutating func enqueue(_ waiter: Waiter) -> [Step]? {
        if batchesInFlight == 0 || mayAddSingleText && waitingTexts == 0, waiter.texts.count == 1 {
            begin(waiter.texts)
            return nil
        }
        waiting.append(waiter)
        waitingTexts += waiter.texts.count
        return beginBatches()
    }

    /// Removes the texts of a batch that has ended.
    mutating func batchEnded(_ texts: [OutgoingText]) -> [Step] {
        batchesInFlight -= 1
        textsInFlight -= texts.count
        lastBatchSize = texts.count
        for text in texts { conversationsInFlight.subtract(from: text.conversation) }
        return beginBatches()
    }

    /// Adds a sender that waits for a batch.
    ///
    /// - Returns: false if there will be none, since the queue is stopped.
    mutating func addIdleSender(_ sender: Sender) -> Bool {
        if !isStopped { idleSenders.append(sender) }
        return !isStopped
    }

    /// Stops batching and ends the idle senders.
    mutating func stop() -> [Step] {
        isStopped = true
        let senders = idleSenders
        idleSenders = []
        return beginBatches() + senders.map { .batch([], $0) }
    }

    /// True while few texts are sent: the last batch was a single text, and so is the one in flight. A second text then
    /// goes at once, since the two take less time beside each other than one after the other.
    private var mayAddSingleText: Bool { batchesInFlight == 1 && textsInFlight == 1 && lastBatchSize == 1 }

    private mutating func begin(_ texts: [OutgoingText]) {
        batchesInFlight += 1
        textsInFlight += texts.count
        for text in texts { conversationsInFlight[text.conversation, default: 0] += 1 }
    }

    /// Begins as many batches as the limits allow.
    private mutating func beginBatches() -> [Step] {
        var steps: [Step] = []
        for waiter in waiting.popLate() {
            waitingTexts -= waiter.texts.count
            steps.append(.timedOut(waiter))
        }
        while batchesInFlight == 0
            || batchesInFlight < Self.maxBatchesInFlight && waitingTexts >= Self.maxBatchSize
            || mayAddSingleText && waitingTexts == 1
        {
            let inFlight = mayAddSingleText ? [] : Set(conversationsInFlight.keys)
            var selection = SendSelection(maxCount: Self.maxBatchSize, inFlight: inFlight)
            let batch = waiting.popFirst(Self.maxBatchSize) { selection.add($0.texts) }
            guard let first = batch.first else { break }
            waitingTexts -= selection.count
            if selection.count == 1 {
                begin(first.texts)
                steps.append(.individually(first))
            } else if let sender = idleSenders.popLast() {
                begin(batch.flatMap(\.texts))
                steps.append(.batch(batch, sender))
            } else {
                // There are as many senders as batches in flight, so that none is idle only before and after the run.
                steps.append(.unbatched(batch))
            }
        }
        return steps
    }
}
