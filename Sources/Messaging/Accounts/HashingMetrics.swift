internal import Metrics
internal import PasswordHashing

/// How busy the hashing of passwords is.
struct HashingMetrics: Sendable {
    private let queue: Meter
    private let refusals: Counter

    init(factory: any MetricsFactory) {
        queue = Meter(label: "postline_hashing_queue", factory: factory)
        refusals = Counter(label: "postline_hashing_rejected_total", factory: factory)
    }

    /// A request was refused because too many waited.
    func refused() { refusals.increment() }

    func measure(_ hasher: PasswordHasher) { queue.set(hasher.waiting) }
}
