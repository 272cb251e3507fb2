import Metrics
import Synchronization

/// The feed's metrics.
package final class FeedMetrics: Sendable {
    private let pollTimer: Timer
    private let changes: Recorder
    private let queueUsage: Meter
    private let lag: Meter
    private let standby: Meter

    /// Changes that committed before this time are distributed. It stays as it is when the feed stops polling, so that
    /// the lag grows. Starts as the start of this node.
    private let lastCovered = Mutex(ContinuousClock.now)

    /// The time of the last check of the notification queue; nil before the first.
    private let lastQueueCheck = Mutex<ContinuousClock.Instant?>(nil)

    /// The interval between checks of the notification queue, which all nodes share and which fills slowly.
    private static let queueCheckInterval: Duration = .seconds(10)

    init(factory: any MetricsFactory) {
        pollTimer = Timer(label: "postline_feed_poll_duration_seconds", factory: factory)
        changes = Recorder(label: "postline_feed_batch_changes", factory: factory)
        queueUsage = Meter(label: "postline_notification_queue_usage_ratio", factory: factory)
        lag = Meter(label: "postline_feed_lag_seconds", factory: factory)
        standby = Meter(label: "postline_feed_polls_standby", factory: factory)
        standby.set(0)
    }

    /// Records a completed poll, which covered everything committed before `seen`.
    func recordPoll(from start: ContinuousClock.Instant, seen: ContinuousClock.Instant) {
        lastCovered.withLock { $0 = seen }
        pollTimer.recordNanoseconds(Int64((.now - start) / .nanoseconds(1)))
    }

    /// Records the server that the feed polls: a standby or the primary.
    func setSource(isStandby: Bool) { standby.set(isStandby ? 1 : 0) }

    /// Records the number of changes that a poll found.
    func recordBatchSize(_ count: Int) { changes.record(count) }

    /// Returns true if a check of the notification queue is due, and counts it as begun.
    func beginQueueCheck() -> Bool {
        lastQueueCheck.withLock { last in
            if let last, .now - last < Self.queueCheckInterval { return false }
            last = .now
            return true
        }
    }

    /// Records the fill of the notification queue.
    ///
    /// - Parameter usage: the fraction in use, as PostgreSQL prints it.
    func setQueueUsage(_ usage: String?) {
        if let usage = usage.flatMap({ Double($0) }) { queueUsage.set(usage) }
    }

    /// Updates the lag, which grows without an event.
    package func measure() { lag.set(lastCovered.withLock { .now - $0 } / .seconds(1)) }
}
