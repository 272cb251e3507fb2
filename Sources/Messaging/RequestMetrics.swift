internal import Metrics
internal import Synchronization

/// How long requests take, by method and by how they are answered; the count of each is the timer's.
///
/// A timer is made when it is needed first, and found by its place from then on.
struct RequestMetrics: Sendable {
    private final class Series: Sendable {
        private let timer = AtomicLazyReference<Timer>()

        func timer(_ make: () -> Timer) -> Timer { timer.load() ?? timer.storeIfNil(make()) }
    }

    private let factory: any MetricsFactory

    /// Of each method, and of those that there are not, one for each code, the good answers' first.
    private let series: [[Series]]

    init(factory: any MetricsFactory) {
        self.factory = factory
        series = (0...Operation.all.count).map { _ in (0...ErrorCode.allCases.count).map { _ in Series() } }
    }

    /// - Parameters:
    ///   - operation: nil where there is no method of the request's name.
    ///   - code: nil where it was answered with a result.
    func answered(_ operation: Operation?, _ code: ErrorCode?, after duration: Duration) {
        let one = series[operation?.index ?? Operation.all.count][code.flatMap { Self.numbers[$0] } ?? 0]
        let timer = one.timer {
            Timer(
                label: "postline_request_seconds",
                dimensions: [("method", operation?.method ?? "unknown"), ("code", code?.rawValue ?? "ok")],
                factory: factory)
        }
        timer.recordNanoseconds(duration.count(of: .nanoseconds(1)))
    }

    private static let numbers = Dictionary(
        uniqueKeysWithValues: ErrorCode.allCases.enumerated().map { ($1, $0 + 1) })
}

extension MessagingService {
    /// What each figure of the service counts, by its name, for whoever shows them.
    public static let metricHelp = [
        "postline_node_info": "Always 1, with the version, and what tells whether nodes have the same secret.",
        "postline_request_seconds": "How long requests took, by method and the code of the answer.",
        "postline_rate_limited_total": "Requests that were refused as rate_limited, by the limit.",
        "postline_requests_delayed_total":
            "Requests that waited since their user, or their address, had asked too much.",
        "postline_pool_wait_seconds": "How long requests waited for a connection to the database.",
        "postline_database_share_wait_seconds":
            "How long requests waited for other requests of the same client, or for the client's budget of time.",
        "postline_database_share_refused_total":
            "Requests that were refused as rate_limited since too many of the same client waited for the database.",
        "postline_database_lock_retries_total": "Requests that ran again since a row was locked for more than 50 ms.",
        "postline_send_group_size": "How many texts were written to the database together.",
        "postline_feed_look_seconds": "How long the feed's looks at what had changed took.",
        "postline_feed_batch_changes": "How many changes a look of the feed brought.",
        "postline_feed_lag_seconds": "How long ago the feed last saw the tables.",
        "postline_feed_at_standby": "1 where the feed looks at the standby, 0 where it looks at the primary.",
        "postline_notification_queue_usage_ratio": "The part of PostgreSQL's notification queue that is full.",
        "postline_hashing_queue": "Passwords that wait to be hashed.",
        "postline_hashing_refused_total": "Requests that were rate_limited because too many passwords waited.",
    ]
}
