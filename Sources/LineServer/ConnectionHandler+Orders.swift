import Messaging
import NIOCore
import NIOSSL

/// What the session asks of the connection, and how it ends.
extension ConnectionHandler {
    /// Does what the session asked.
    func carryOut(_ order: LineLoop.Order) {
        switch order {
        case .startPushes(let cursor):
            self.queue.startPushes(cursor: cursor)
            self.laggedSince = nil
        case .stopPushes:
            self.queue.stopPushes()
            self.laggedSince = nil
        case .fallBehind:
            self.queue.fallBehind()
            self.hasFallenBehind()
        case .noteCursor(let cursor):
            self.queue.noteCursor(cursor)
        case .setExpiry(let expiry):
            self.expiry = expiry.map { (.now() + .nanoseconds(Int64(clamping: $0.seconds)), $0.goodbye) }
        case .goodbye(let goodbye):
            self.sayGoodbye(goodbye, keepingAnswers: true)
        }
    }

    /// Queues a push, which leaves with the next flush.
    func push(_ push: Push) {
        if self.queue.push(push) {
            // A burst leaves while it comes, rather than to pile up past the bound within one tick.
            if self.queue.isFlightWaiting { self.flush() } else if !self.queue.isFlying { self.flushLater() }
        } else {
            self.hasFallenBehind()
        }
    }

    private func hasFallenBehind() {
        self.server.metrics.lagged()
        self.laggedSince = .now()
        self.flushLater()
    }

    /// Takes nothing more, does what was taken, and says goodbye then.
    func finishThenSay(_ goodbye: Goodbye) {
        switch self.phase {
        case .opening:
            self.cut()
        case .serving:
            self.phase = .finishing(goodbye)
            self.settle()
        case .finishing, .leaving, .closed:
            break
        }
    }

    /// Closes at once.
    func cut() {
        // Past TLS, which would wait for the client to end it too.
        let tls = try? self.context?.pipeline.syncOperations.context(handlerType: NIOSSLServerHandler.self)
        (tls ?? self.context)?.close(promise: nil)
    }

    /// Says why and closes; what was taken and not begun is dropped.
    ///
    /// - Parameter keepingAnswers: whether answers that are queued still go before it.
    func sayGoodbye(_ goodbye: Goodbye, keepingAnswers: Bool) {
        switch self.phase {
        case .serving, .finishing: break
        case .opening: return self.cut()
        case .leaving, .closed: return
        }
        if self.admission == .serve { self.server.metrics.saidGoodbye(goodbye.code) }
        self.phase = .leaving(until: .now() + TimeAmount(self.server.configuration.lingerTimeout))
        self.forgetTaken()
        self.framer = LineFramer(maxLineBytes: 0)
        self.queue.close(with: ServerLines.goodbye(goodbye), keepingAnswers: keepingAnswers)
        self.flushLater()
        self.serve()
        self.readMore()
    }
}

extension Int64 {
    /// Seconds in nanoseconds, within what fits: a token may be good for centuries.
    fileprivate init(clamping seconds: Double) {
        let nanoseconds = seconds * 1e9
        self = nanoseconds >= 4e18 ? 4_000_000_000_000_000_000 : nanoseconds <= 0 ? 0 : Int64(nanoseconds)
    }
}
