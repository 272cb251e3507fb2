import Foundations
import Metrics
import Synchronization
import WireProtocol

/// The durations and counts of requests, by method and result code.
///
/// Each timer is created on first use and found by its index afterwards.
struct RequestMetrics: Sendable {
    private final class Series: Sendable {
        private let timer = AtomicLazyReference<Timer>()

        func timer(_ make: () -> Timer) -> Timer { timer.load() ?? timer.storeIfNil(make()) }
    }

    private let factory: any MetricsFactory

    /// A row for each method and a last one for unknown methods, with a timer for each code, success first.
    private let series: [[Series]]

    init(factory: any MetricsFactory) {
        self.factory = factory
        series = (0...Operation.all.count).map { _ in (0...ErrorCode.allCases.count).map { _ in Series() } }
    }

    /// Records an answered request.
    ///
    /// - Parameters:
    ///   - operation: nil for an unknown method.
    ///   - code: nil for a result.
    func record(_ operation: Operation?, _ code: ErrorCode?, after duration: Duration) {
        let series = self.series[operation?.index ?? Operation.all.count][code.flatMap { Self.numbers[$0] } ?? 0]
        let timer = series.timer {
            Timer(
                label: "postline_request_duration_seconds",
                dimensions: [("method", operation?.method ?? "unknown"), ("code", code?.rawValue ?? "ok")],
                factory: factory)
        }
        timer.recordNanoseconds(duration.count(of: .nanoseconds(1)))
    }

    private static let numbers = Dictionary(
        uniqueKeysWithValues: ErrorCode.allCases.enumerated().map { ($1, $0 + 1) })
}

extension MessagingService {
    /// The help text of each metric of the service, by name.
    package static let metricHelp = [
        "postline_node_info":
            "Always 1. The labels are the version and a fingerprint of the signing secret, which all nodes must share.",
        "postline_request_duration_seconds": "The duration of requests, by method and result code.",
        "postline_rate_limited_total": "Requests rejected with rate_limited, by limit.",
        "postline_requests_delayed_total": "Requests delayed because their user or address exceeded its request rate.",
        "postline_pool_wait_seconds": "The time that requests waited for a database connection.",
        "postline_user_share_wait_seconds":
            "The time that requests waited for other requests of their user, or for its budget of database time.",
        "postline_user_share_rejected_total":
            "Requests rejected with rate_limited because too many of their user waited for the database.",
        "postline_database_lock_retries_total": "Requests retried because a row was locked for more than 50 ms.",
        "postline_send_batch_size": "The number of texts written in one batch.",
        "postline_piece_batch_size": "The number of pieces of streaming messages appended in one batch.",
        "postline_feed_poll_duration_seconds": "The duration of the feed's polls.",
        "postline_feed_batch_changes": "The number of changes that a poll of the feed returned.",
        "postline_feed_lag_seconds": "The age of the newest state that the feed has read.",
        "postline_feed_polls_standby": "1 if the feed polls the standby, 0 if it polls the primary.",
        "postline_notification_queue_usage_ratio": "The fraction of PostgreSQL's notification queue in use.",
        "postline_reports_open": "Reports that no moderator has closed; the same on every node.",
        "postline_report_oldest_seconds": "The age of the oldest of them; 0 if there is none.",
        "postline_held_messages": "Messages that wait for a moderator; the same on every node.",
        "postline_held_message_oldest_seconds": "The age of the oldest of them; 0 if there is none.",
        "postline_hashing_queue": "Passwords that wait to be hashed.",
        "postline_hashing_rejected_total": "Requests rejected with rate_limited because too many passwords waited.",
    ]
}
