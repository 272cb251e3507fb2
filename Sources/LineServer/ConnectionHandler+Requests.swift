import Messaging
import NIOCore

/// How lines are taken from the socket, and given to the connection's task one after another.
extension ConnectionHandler {
    /// Whether as many lines are taken as may be open at once.
    var isFull: Bool {
        self.taken.count - self.head + (self.isBusy ? 1 : 0) >= self.server.configuration.maxInFlight
    }

    /// The storage of all that was read and is not done, in bytes.
    var heldBytes: Int { self.framer.heldBytes + self.takenBytes }

    /// Takes as many of the lines that have come as may be open.
    func takeLines() {
        guard case .serving = self.phase else { return }
        while !self.isFull {
            let event = self.framer.next()
            let storage = self.framer.takeReleasedBytes()
            if let event {
                self.taken.append(Taken(event: event, storage: storage))
            } else if self.head < self.taken.count {
                self.taken[self.taken.count - 1].storage += storage
            } else if self.isBusy {
                self.workBytes += storage
            } else {
                return
            }
            self.takenBytes += storage
            if event == nil { return }
        }
    }

    /// Asks the socket for more, where there is room for it: reading less is what slows the sender down.
    func readMore() {
        guard !self.isReading, !self.hasInputEnded, let context = self.context else { return }
        switch self.phase {
        case .serving: if self.isFull || self.heldBytes >= self.server.configuration.maxHeldBytes { return }
        case .finishing, .closed: return
        case .opening, .leaving: break
        }
        self.isReading = true
        context.read()
    }

    /// Drops what was taken and not begun.
    func forgetTaken() {
        self.taken = []
        self.head = 0
        self.takenBytes = self.workBytes
    }

    /// The largest line, for the message to whoever sent a larger one.
    var maxLineBytes: Int { self.server.configuration.maxLineBytes }

    /// The task gets the next line as soon as there is one, the one before is done, and the client has made room for its
    /// answer; nil when there will be none.
    func next(_ waiter: CheckedContinuation<Work?, Never>) {
        self.waiter = waiter
        self.serve()
    }

    /// The line of that number is done, if it is the one at work.
    ///
    /// What the session asked of its connection until now takes effect before the next line is taken up.
    func done(_ turn: Int) {
        guard turn == self.turn else { return }
        self.isBusy = false
        self.takenBytes -= self.workBytes
        self.workBytes = 0
        if case .closed = self.phase { self.loop.remove(self) }
        self.loop.readMail()
        self.takeLines()
        self.serve()
        self.settle()
        self.readMore()
    }

    /// Has the task give up the line at work: whatever it still does is of no account.
    func giveUp() {
        guard let waiter = self.waiter else { return }
        self.requestBegan = nil
        self.turn += 1
        self.waiter = nil
        waiter.resume(returning: .giveUp)
    }

    /// Whether goodbye was said, so that no answer would arrive.
    var isLeaving: Bool {
        switch self.phase {
        case .opening, .serving, .finishing: false
        case .leaving, .closed: true
        }
    }

    /// Puts an answer on its way out. What the session asked of its connection before takes effect before it.
    ///
    /// - Parameter isWhole: whether the line ends with this, and is not a part of a batch's answer.
    func answer(_ content: Answer.Content, id: JSON, isWhole: Bool) {
        self.loop.readMail()
        self.queue.answer(content, id: id, isWhole: isWhole)
        self.flushLater()
        // Answers to requests that were already waiting share a write. A request that is done without leaving the loop
        // is done within a few turns of it (to the session's actor and back); for one that is not, nothing is waited
        // for.
        self.flushPatience = !isWhole || self.head < self.taken.count ? 4 : 0
    }

    /// Ends a batch's answer, where there is one.
    func endBatch() {
        guard self.queue.isAnswerOpen else { return }
        self.queue.endBatch()
        self.flushLater()
        self.flushPatience = 0
    }

    /// Whether the client has made room for another answer, or goodbye was said and there is nothing to wait for.
    var hasRoom: Bool {
        if self.isLeaving || self.queue.unwrittenAnswerBytes <= self.server.configuration.maxUnwrittenAnswerBytes {
            return true
        }
        self.flush()
        return self.queue.unwrittenAnswerBytes <= self.server.configuration.maxUnwrittenAnswerBytes
    }

    /// A batch goes on once there is room for its next answer.
    func whenRoom(_ batch: CheckedContinuation<Void, Never>) {
        self.batch = batch
        self.serve()
    }

    /// Whether the flush that is due had better wait for another turn of the loop. Asked once a turn.
    func postponesFlush() -> Bool {
        guard self.flushPatience > 0, self.queue.unwrittenAnswerBytes < self.queue.flightBytes else { return false }
        self.flushPatience -= 1
        return true
    }

    /// Hands the next line to the task, if that waits for one and the client has made room for its answer; likewise has a
    /// batch go on.
    func serve() {
        guard self.waiter != nil || self.batch != nil, self.hasRoom else { return }
        // Either may have been served just now, by the flush that made room.
        if let batch = self.batch {
            self.batch = nil
            batch.resume()
        }
        guard !self.isBusy, let waiter = self.waiter else { return }
        switch self.phase {
        case .opening:
            break
        case .serving, .finishing:
            guard self.head < self.taken.count else { return }
            let work = self.taken[self.head]
            // A line that is being done is the task's; nothing else is to hold on to it.
            self.taken[self.head].event = .tooLong
            self.head += 1
            if self.head == self.taken.count {
                self.taken = []
                self.head = 0
            } else if self.head > 64 {
                self.taken.removeFirst(self.head)
                self.head = 0
            }
            self.workBytes = work.storage
            self.server.metrics.line()
            self.isBusy = true
            self.turn += 1
            self.waiter = nil
            waiter.resume(returning: .take(work.event))
        case .leaving, .closed:
            self.waiter = nil
            waiter.resume(returning: nil)
        }
    }

    /// Ends the connection where it has nothing left to do.
    func settle() {
        let isIdle = !self.isBusy && self.head == self.taken.count
        switch self.phase {
        case .opening:
            if self.hasInputEnded { self.cut() }
        case .serving:
            if self.hasInputEnded, isIdle {
                // What is queued is on its way out already, and closing is asked again when it has landed.
                if self.queue.isEmpty { self.context?.close(promise: nil) }
            }
        case .finishing(let goodbye):
            if isIdle { self.sayGoodbye(goodbye, keepingAnswers: true) }
        case .leaving:
            guard self.queue.isEmpty, let context = self.context else { return }
            if self.hasInputEnded {
                context.close(promise: nil)
            } else if !self.hasOutputEnded {
                self.hasOutputEnded = true
                context.close(mode: .output, promise: nil)
            }
        case .closed:
            break
        }
    }
}
