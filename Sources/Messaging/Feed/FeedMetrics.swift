internal import Metrics
internal import Synchronization

/// What the feed counts of itself.
final class FeedMetrics: Sendable {
    private let lookTimer: Timer
    private let changes: Recorder
    private let queueUsage: Meter
    private let lag: Meter

    /// When the last look began; of one that looks no more, so that its lag grows. At first, when this node began.
    private let lastLook = Mutex(ContinuousClock.now)

    /// When the notification queue was last asked for; nil before the first time.
    private let lastAsked = Mutex<ContinuousClock.Instant?>(nil)

    /// How often the notification queue is asked for: it is the same for all nodes, and fills slowly.
    private static let askingInterval: Duration = .seconds(10)

    init(factory: any MetricsFactory) {
        lookTimer = Timer(label: "postline_feed_look_seconds", factory: factory)
        changes = Recorder(label: "postline_feed_batch_changes", factory: factory)
        queueUsage = Meter(label: "postline_notification_queue_usage_ratio", factory: factory)
        lag = Meter(label: "postline_feed_lag_seconds", factory: factory)
    }

    /// A look that began then has come to its end.
    func looked(since start: ContinuousClock.Instant) {
        lastLook.withLock { $0 = start }
        lookTimer.recordNanoseconds(Int64((.now - start) / .nanoseconds(1)))
    }

    /// A look has brought so many changes.
    func brought(_ count: Int) { changes.record(count) }

    /// Whether the notification queue is to be asked for now; then it counts as asked.
    var isQueueDue: Bool {
        lastAsked.withLock { last in
            if let last, .now - last < Self.askingInterval { return false }
            last = .now
            return true
        }
    }

    /// - Parameter usage: the part of the queue that is full, as PostgreSQL says it.
    func queueIsFull(to usage: String?) {
        if let usage = usage.flatMap({ Double($0) }) { queueUsage.set(usage) }
    }

    /// Takes the figure that time alone changes.
    func measure() { lag.set(lastLook.withLock { .now - $0 } / .seconds(1)) }
}
