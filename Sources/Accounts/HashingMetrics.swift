package import Metrics

/// Metrics of password hashing.
package struct HashingMetrics: Sendable {
    private let queue: Meter
    private let rejections: Counter

    package init(factory: any MetricsFactory) {
        queue = Meter(label: "postline_hashing_queue", factory: factory)
        rejections = Counter(label: "postline_hashing_rejected_total", factory: factory)
    }

    /// Counts a request that was rejected because too many passwords waited.
    func recordRejection() { rejections.increment() }

    package func measure(_ hasher: PasswordHasher) { queue.set(hasher.waiting) }
}
