internal import Metrics
internal import Synchronization

/// What the feed counts of itself.
final class FeedMetrics: Sendable {
    private let pollTimer: Timer
    private let changes: Recorder
    private let queueUsage: Meter
    private let lag: Meter
    private let standby: Meter

    /// What was written before then is seen; of a feed that looks no more, so that its lag grows. At first, when this
    /// node began.
    private let lastCovered = Mutex(ContinuousClock.now)

    /// When the notification queue was last asked for; nil before the first time.
    private let lastQueueCheck = Mutex<ContinuousClock.Instant?>(nil)

    /// How often the notification queue is asked for: it is the same for all nodes, and fills slowly.
    private static let queueCheckInterval: Duration = .seconds(10)

    init(factory: any MetricsFactory) {
        pollTimer = Timer(label: "postline_feed_look_seconds", factory: factory)
        changes = Recorder(label: "postline_feed_batch_changes", factory: factory)
        queueUsage = Meter(label: "postline_notification_queue_usage_ratio", factory: factory)
        lag = Meter(label: "postline_feed_lag_seconds", factory: factory)
        standby = Meter(label: "postline_feed_at_standby", factory: factory)
        standby.set(0)
    }

    /// A look that began then has come to its end, and has seen what was written before `seen`.
    func recordPoll(from start: ContinuousClock.Instant, seen: ContinuousClock.Instant) {
        lastCovered.withLock { $0 = seen }
        pollTimer.recordNanoseconds(Int64((.now - start) / .nanoseconds(1)))
    }

    /// It looks at a standby, or at the primary.
    func setSource(isStandby: Bool) { standby.set(isStandby ? 1 : 0) }

    /// A look has brought so many changes.
    func recordBatchSize(_ count: Int) { changes.record(count) }

    /// Whether the notification queue is to be asked for now; then it counts as asked.
    func beginQueueCheck() -> Bool {
        lastQueueCheck.withLock { last in
            if let last, .now - last < Self.queueCheckInterval { return false }
            last = .now
            return true
        }
    }

    /// - Parameter usage: the part of the queue that is full, as PostgreSQL says it.
    func setQueueUsage(_ usage: String?) {
        if let usage = usage.flatMap({ Double($0) }) { queueUsage.set(usage) }
    }

    /// Takes the figure that time alone changes.
    func measure() { lag.set(lastCovered.withLock { .now - $0 } / .seconds(1)) }
}
