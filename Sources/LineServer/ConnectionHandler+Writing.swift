import Messaging
import NIOCore

/// How what is queued reaches the socket.
extension ConnectionHandler {
    /// Queues a line that must not be dropped.
    func send(_ line: ByteBuffer) {
        self.queue.answer(line)
        self.flushLater()
    }

    /// Writes at the end of this turn of the loop, with what is queued until then.
    func flushLater() {
        guard !self.isFlushDue else { return }
        self.isFlushDue = true
        self.loop.flushLater(self)
    }

    /// Hands to the socket what it has room for.
    func flush() {
        // A flight can land before the call that sent it returns: the loop below then goes on, not the callback.
        guard !self.isFlushing, let context = self.context else { return }
        self.isFlushing = true
        while true {
            let lines = self.queue.takeFlight()
            guard let last = lines.last else { break }
            for line in lines.dropLast() { context.write(Self.wrapOutboundOut(line), promise: nil) }
            let promise = context.eventLoop.makePromise(of: Void.self)
            promise.futureResult.assumeIsolated().whenComplete { result in
                // A flight that failed takes the connection with it.
                if case .success = result { self.landed() }
            }
            self.lastSent = .now()
            context.writeAndFlush(Self.wrapOutboundOut(last), promise: promise)
            if self.queue.isFlying { break }
        }
        self.isFlushing = false
        self.settle()
    }

    /// The kernel has taken the flight that was out.
    private func landed() {
        self.queue.landed()
        self.stalled = nil
        if !self.queue.isLagged { self.laggedSince = nil }
        guard !self.isFlushing else { return }
        self.flush()
        self.serve()
    }
}
