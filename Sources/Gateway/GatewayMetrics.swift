import Foundations
import Metrics
import Synchronization

/// The durations of HTTP requests by route and status. The route is a template, since a path is unbounded client input.
final class GatewayMetrics: Sendable {
    private struct TimerKey: Hashable {
        let route: String
        let status: UInt
    }

    private let factory: any MetricsFactory
    private let timers = Mutex<[TimerKey: Timer]>([:])

    init(factory: any MetricsFactory) { self.factory = factory }

    func recordRequest(_ route: String, _ status: UInt, took duration: Duration) {
        let key = TimerKey(route: route, status: status)
        let timer = timers.withLock { timers in
            if let timer = timers[key] { return timer }
            let timer = Timer(
                label: "postline_http_request_duration_seconds",
                dimensions: [("route", route), ("status", "\(status)")],
                factory: factory)
            timers[key] = timer
            return timer
        }
        timer.recordNanoseconds(duration.count(of: .nanoseconds(1)))
    }
}

extension Gateway {
    /// The help text of each metric, by name.
    package static let metricHelp = [
        "postline_http_request_duration_seconds": "The duration of HTTP requests, by route and status."
    ]
}
