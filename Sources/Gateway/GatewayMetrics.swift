import Messaging
import Metrics
import Synchronization

/// How long HTTP requests take, by route and status; by the route's template, never by a path, which is a client's text.
final class GatewayMetrics: Sendable {
    private struct Key: Hashable {
        let route: String
        let status: UInt
    }

    private let factory: any MetricsFactory
    private let timers = Mutex<[Key: Timer]>([:])

    init(factory: any MetricsFactory) { self.factory = factory }

    func answered(_ route: String, _ status: UInt, after duration: Duration) {
        let key = Key(route: route, status: status)
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
    /// What each figure of the gateway counts, by its name, for whoever shows them.
    public static let metricHelp = [
        "postline_http_request_duration_seconds": "The duration of HTTP requests, by route and status."
    ]
}
