import Messaging
import NIOCore

/// How lines are taken from the socket, and given to the connection's task one after another.
extension ConnectionHandler {
    /// Whether as much is taken as may be open at once.
    var isFull: Bool {
        let open = self.taken.count - self.head + (self.isBusy ? 1 : 0)
        return open >= self.server.configuration.maxInFlight
            || self.takenBytes >= self.server.configuration.maxTakenBytes
    }

    /// Takes as many of the lines that have come as may be open.
    func takeLines() {
        guard case .serving = self.phase else { return }
        while !self.isFull, let work = self.framer.next() {
            if case .line(let line) = work { self.takenBytes += line.readableBytes }
            self.taken.append(work)
        }
    }

    /// Asks the socket for more, where there is room for it: reading less is what slows the sender down.
    func readMore() {
        guard !self.isReading, !self.hasInputEnded, let context = self.context else { return }
        switch self.phase {
        case .serving: if self.isFull { return }
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
        self.takenBytes = 0
    }

    /// The largest line, for the message to whoever sent a larger one.
    var maxLineBytes: Int { self.server.configuration.maxLineBytes }

    /// The task is done with what it was given, and gets the next line as soon as there is one and the client has made
    /// room for its answer; nil when there will be none.
    ///
    /// What the session asked of its connection until now takes effect before the next line is taken up.
    func next(_ waiter: CheckedContinuation<Work?, Never>) {
        self.isBusy = false
        self.waiter = waiter
        self.loop.readMail()
        self.takeLines()
        self.serve()
        self.settle()
        self.readMore()
    }

    /// Whether goodbye was said, so that no answer would arrive.
    var isLeaving: Bool {
        switch self.phase {
        case .opening, .serving, .finishing: false
        case .leaving, .closed: true
        }
    }

    /// Puts an answer on its way out. What the session asked of its connection before takes effect before it.
    func answer(_ line: ByteBuffer) {
        self.loop.readMail()
        self.send(line)
        // Answers to requests that were already waiting share a write. A request that is done without leaving the loop
        // is done within a few turns of it (to the session's actor and back); for one that is not, nothing is waited
        // for.
        self.flushPatience = self.head < self.taken.count ? 4 : 0
    }

    /// Whether the flush that is due had better wait for another turn of the loop. Asked once a turn.
    func postponesFlush() -> Bool {
        guard self.flushPatience > 0, self.queue.unwrittenAnswerBytes < self.queue.flightBytes else { return false }
        self.flushPatience -= 1
        return true
    }

    /// Hands the next line to the task, if that waits for one and the client has made room for its answer.
    func serve() {
        guard let waiter = self.waiter else { return }
        switch self.phase {
        case .opening:
            break
        case .serving, .finishing:
            guard self.head < self.taken.count else { return }
            if self.queue.unwrittenAnswerBytes > self.server.configuration.maxUnwrittenAnswerBytes {
                self.flush()
                // It may have been emptied, and this called again, by that.
                guard self.waiter != nil else { return }
                if self.queue.unwrittenAnswerBytes > self.server.configuration.maxUnwrittenAnswerBytes { return }
            }
            let work = self.taken[self.head]
            self.head += 1
            if self.head == self.taken.count {
                self.taken = []
                self.head = 0
            } else {
                // A line that is being done is the task's; nothing else is to hold on to it.
                self.taken[self.head - 1] = .tooLong
            }
            if case .line(let line) = work { self.takenBytes -= line.readableBytes }
            self.server.metrics.line()
            self.isBusy = true
            self.waiter = nil
            waiter.resume(returning: work)
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
