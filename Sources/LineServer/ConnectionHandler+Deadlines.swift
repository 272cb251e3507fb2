import Messaging
import NIOCore

/// What happens by itself when its time has come.
extension ConnectionHandler {
    /// Does what is due.
    func sweep(_ now: NIODeadline) {
        if let began = self.requestBegan, now - began >= TimeAmount(self.server.configuration.requestTimeout) {
            self.giveUp()
        }
        switch self.phase {
        case .opening(let deadline):
            if deadline <= now { self.isNotOpened("not in time") }
        case .serving, .finishing:
            if let expiry = self.expiry, expiry.deadline <= now {
                self.sayGoodbye(expiry.goodbye, keepingAnswers: true)
            } else if self.isTooSlow(now) {
                self.sayGoodbye(
                    Goodbye(.slowConsumer, "The connection did not read what was sent to it in time."),
                    keepingAnswers: false)
            } else if self.queue.isEmpty, now - self.lastSent >= TimeAmount(self.server.configuration.pingInterval) {
                self.send(ServerLines.ping(cursor: self.queue.cursor))
            }
        case .leaving(let deadline):
            if deadline <= now { self.cut() }
        case .closed:
            break
        }
    }

    /// Whether the client has had its time to make room.
    private func isTooSlow(_ now: NIODeadline) -> Bool {
        let limit = TimeAmount(self.server.configuration.slowConsumerTimeout)
        if let laggedSince = self.laggedSince, now - laggedSince >= limit { return true }
        guard self.queue.isFlying, let context = self.context else { return false }
        // A flight may be one long answer to a slow reader: only one that does not move at all is stalled.
        let bytes = (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
        guard let stalled = self.stalled, stalled.bytes == bytes else {
            self.stalled = (now, bytes)
            return false
        }
        return now - stalled.since >= limit
    }
}
