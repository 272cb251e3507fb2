import ChangeFeed
import NIOCore
import WireProtocol

/// The deadlines of an open connection and its client.
struct ConnectionDeadlines {
    /// A due action.
    enum Due {
        case leave(Goodbye, keepingAnswers: Bool)
        case ping
    }

    private let requestTimeout: TimeAmount
    private let slowConsumerTimeout: TimeAmount
    private let pingInterval: TimeAmount

    /// The time when the connection ends, unless replaced before.
    var expiry: (deadline: NIODeadline, goodbye: Goodbye)?

    /// The start of the current request, or nil if none is being executed.
    var requestBegan: NIODeadline?

    var lastSent: NIODeadline

    /// The time when the client fell behind, or nil if it has not.
    var laggedSince: NIODeadline?

    /// The time since when the write in flight has made no progress, and its unsent bytes then.
    private var stalled: (since: NIODeadline, bytes: Int)?

    init(_ configuration: LineServer.Configuration, now: NIODeadline) {
        requestTimeout = TimeAmount(configuration.requestTimeout)
        slowConsumerTimeout = TimeAmount(configuration.slowConsumerTimeout)
        pingInterval = TimeAmount(configuration.pingInterval)
        lastSent = now
    }

    /// Replaces the expiry. nil removes it.
    mutating func setExpiry(_ expiry: Expiry?, _ now: NIODeadline) {
        self.expiry = expiry.map { (now + .nanoseconds(Int64(clamping: $0.seconds)), $0.goodbye) }
    }

    /// Notes that the kernel has accepted the write in flight.
    mutating func writeCompleted(needsLagNotice: Bool) {
        stalled = nil
        if !needsLagNotice { laggedSince = nil }
    }

    /// Returns true, once per request, if the current request has exceeded the request timeout.
    mutating func isRequestOverdue(_ now: NIODeadline) -> Bool {
        guard let began = requestBegan, now - began >= requestTimeout else { return false }
        requestBegan = nil
        return true
    }

    /// Returns the action that is due, or nil.
    ///
    /// - Parameter unsentBytes: returns the bytes of the write in flight that the kernel has not accepted.
    mutating func due(_ now: NIODeadline, _ queue: OutboundQueue, _ unsentBytes: () -> Int) -> Due? {
        if let expiry, expiry.deadline <= now { return .leave(expiry.goodbye, keepingAnswers: true) }
        if isTooSlow(now, queue, unsentBytes) {
            let goodbye = Goodbye(.slowConsumer, "The connection did not read what was sent to it in time.")
            return .leave(goodbye, keepingAnswers: false)
        }
        return queue.isEmpty && now - lastSent >= pingInterval ? .ping : nil
    }

    /// Returns true if the client has not made room within the slow-consumer timeout.
    private mutating func isTooSlow(_ now: NIODeadline, _ queue: OutboundQueue, _ unsentBytes: () -> Int) -> Bool {
        if let laggedSince, now - laggedSince >= slowConsumerTimeout { return true }
        guard queue.isWriteInFlight else { return false }
        // The write may be one long response to a slow reader. It is stalled only if it makes no progress at all.
        let bytes = unsentBytes()
        guard let stalled, stalled.bytes == bytes else {
            self.stalled = (now, bytes)
            return false
        }
        return now - stalled.since >= slowConsumerTimeout
    }
}

extension Int64 {
    /// Converts seconds to nanoseconds within the range of the type: a token may be valid for centuries.
    fileprivate init(clamping seconds: Double) {
        let nanoseconds = seconds * 1e9
        self = nanoseconds >= 4e18 ? 4_000_000_000_000_000_000 : nanoseconds <= 0 ? 0 : Int64(nanoseconds)
    }
}
