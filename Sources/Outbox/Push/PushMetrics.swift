import Foundations
import Messaging
import Metrics

/// The metrics of device pushes.
struct PushMetrics: Sendable {
    private let factory: any MetricsFactory
    private let leads: Meter
    private let abandoned: Counter

    init(_ factory: any MetricsFactory) {
        self.factory = factory
        leads = Meter(label: "postline_device_notification_leader", factory: factory)
        leads.set(0)
        // Created at the start, so that an alert sees the first increment.
        abandoned = Counter(label: "postline_device_notifications_abandoned_total", factory: factory)
        abandoned.increment(by: 0)
    }

    func leads(_ isLeader: Bool) { leads.set(isLeader ? 1 : 0) }

    func settled(_ platform: DevicePlatform, _ outcome: PushOutcome, after duration: Duration) {
        let name =
            switch outcome {
            case .accepted: "accepted"
            case .rejected: "rejected"
            case .unregistered: "unregistered"
            case .deferred: "deferred"
            }
        let dimensions = [("provider", platform.rawValue), ("outcome", name)]
        Counter(label: "postline_device_notifications_total", dimensions: dimensions, factory: factory).increment()
        Timer(
            label: "postline_device_notification_duration_seconds", dimensions: [("provider", platform.rawValue)],
            factory: factory
        )
        .recordNanoseconds(duration.count(of: .nanoseconds(1)))
    }

    func recordAbandoned(_ count: Int) { abandoned.increment(by: count) }
}

extension Pusher {
    /// A description of each metric, by name.
    package static let metricHelp = [
        "postline_device_notification_leader": "1 on the node that sends device pushes, 0 on all others.",
        "postline_device_notifications_total": "Device pushes, by provider and outcome.",
        "postline_device_notification_duration_seconds": "The time that a provider took to respond.",
        "postline_device_notifications_abandoned_total": "Device pushes dropped after a day of failed attempts.",
    ]
}
