internal import Messaging
internal import Metrics

/// What is counted of pushes.
struct PushMetrics: Sendable {
    private let factory: any MetricsFactory
    private let leads: Meter
    private let givenUp: Counter

    init(_ factory: any MetricsFactory) {
        self.factory = factory
        leads = Meter(label: "postline_push_leader", factory: factory)
        leads.set(0)
        // There from the beginning, so that an alert on it sees the first.
        givenUp = Counter(label: "postline_pushes_given_up_total", factory: factory)
        givenUp.increment(by: 0)
    }

    func leads(_ isLeader: Bool) { leads.set(isLeader ? 1 : 0) }

    func settled(_ platform: DevicePlatform, _ outcome: PushOutcome, after duration: Duration) {
        let name =
            switch outcome {
            case .taken: "taken"
            case .refused: "refused"
            case .unregistered: "unregistered"
            case .later: "later"
            }
        let dimensions = [("provider", platform.rawValue), ("outcome", name)]
        Counter(label: "postline_device_pushes_total", dimensions: dimensions, factory: factory).increment()
        Timer(label: "postline_push_seconds", dimensions: [("provider", platform.rawValue)], factory: factory)
            .recordNanoseconds(duration.count(of: .nanoseconds(1)))
    }

    func gaveUp(_ count: Int) { givenUp.increment(by: count) }
}

extension Pusher {
    /// What the figures say, by their names.
    public static let metricHelp = [
        "postline_push_leader": "1 on the node that pushes, 0 on those that would follow it.",
        "postline_device_pushes_total": "Pushes given to providers, by provider and what became of them.",
        "postline_push_seconds": "How long a provider took to answer.",
        "postline_pushes_given_up_total": "Pushes that nobody took for a day.",
    ]
}
