import Messaging
import NIOCore

/// What a connection that is open must do in time, and its client.
struct ConnectionDeadlines {
    /// What the time has come for.
    enum Due {
        case leave(Goodbye, keepingAnswers: Bool)
        case ping
    }

    private let requestTimeout: TimeAmount
    private let slowConsumerTimeout: TimeAmount
    private let pingInterval: TimeAmount

    /// When the connection ends unless this is replaced before.
    var expiry: (deadline: NIODeadline, goodbye: Goodbye)?

    /// Since when the session is at work on the present request; nil where it is not.
    var requestBegan: NIODeadline?

    var lastSent: NIODeadline

    /// Since when the client has fallen behind; nil where it has not.
    var laggedSince: NIODeadline?

    /// Since when the flight that is out has made no progress, and how much of it was left then.
    private var stalled: (since: NIODeadline, bytes: Int)?

    init(_ configuration: LineServer.Configuration, now: NIODeadline) {
        requestTimeout = TimeAmount(configuration.requestTimeout)
        slowConsumerTimeout = TimeAmount(configuration.slowConsumerTimeout)
        pingInterval = TimeAmount(configuration.pingInterval)
        lastSent = now
    }

    /// Replaces the expiry; nil: there is none.
    mutating func setExpiry(_ expiry: Expiry?, _ now: NIODeadline) {
        self.expiry = expiry.map { (now + .nanoseconds(Int64(clamping: $0.seconds)), $0.goodbye) }
    }

    /// The kernel has taken the flight that was out.
    mutating func writeCompleted(needsLagNotice: Bool) {
        stalled = nil
        if !needsLagNotice { laggedSince = nil }
    }

    /// Whether the request at work has gone on for longer than anything that could hold it. Said once.
    mutating func isRequestOverdue(_ now: NIODeadline) -> Bool {
        guard let began = requestBegan, now - began >= requestTimeout else { return false }
        requestBegan = nil
        return true
    }

    /// - Parameter unsentBytes: how much of the flight that is out the kernel has not taken yet.
    mutating func due(_ now: NIODeadline, _ queue: OutboundQueue, _ unsentBytes: () -> Int) -> Due? {
        if let expiry, expiry.deadline <= now { return .leave(expiry.goodbye, keepingAnswers: true) }
        if isTooSlow(now, queue, unsentBytes) {
            let goodbye = Goodbye(.slowConsumer, "The connection did not read what was sent to it in time.")
            return .leave(goodbye, keepingAnswers: false)
        }
        return queue.isEmpty && now - lastSent >= pingInterval ? .ping : nil
    }

    /// Whether the client has had its time to make room.
    private mutating func isTooSlow(_ now: NIODeadline, _ queue: OutboundQueue, _ unsentBytes: () -> Int) -> Bool {
        if let laggedSince, now - laggedSince >= slowConsumerTimeout { return true }
        guard queue.isWriteInFlight else { return false }
        // A flight may be one long answer to a slow reader: only one that does not move at all is stalled.
        let bytes = unsentBytes()
        guard let stalled, stalled.bytes == bytes else {
            self.stalled = (now, bytes)
            return false
        }
        return now - stalled.since >= slowConsumerTimeout
    }
}

extension Int64 {
    /// Seconds in nanoseconds, within what fits: a token may be good for centuries.
    fileprivate init(clamping seconds: Double) {
        let nanoseconds = seconds * 1e9
        self = nanoseconds >= 4e18 ? 4_000_000_000_000_000_000 : nanoseconds <= 0 ? 0 : Int64(nanoseconds)
    }
}
