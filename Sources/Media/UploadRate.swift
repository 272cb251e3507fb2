/// The rate of an upload over its last five to ten seconds.
struct UploadRate {
    typealias Instant = ContinuousClock.Instant

    private static let period = Duration.seconds(5)

    /// The start of the current period.
    private var start: Instant
    private var bytes = 0

    /// The bytes of the period before; nil in the first.
    private var earlierBytes: Int?

    /// The time of the last bytes.
    private var last: Instant

    init(start: Instant) {
        self.start = start
        last = start
    }

    /// Returns true if nothing has arrived for five seconds.
    func isStalled(now: Instant) -> Bool { now - last >= Self.period }

    /// Adds bytes that have arrived.
    mutating func add(_ count: Int, now: Instant) {
        if now - start >= Self.period {
            let isNext = now - start < Self.period * 2
            earlierBytes = isNext ? bytes : 0
            bytes = 0
            start = isNext ? start + Self.period : now
        }
        bytes += count
        last = now
    }

    /// Returns the bytes per second, or nil in the first five seconds.
    func bytesPerSecond(now: Instant) -> Double? {
        let elapsed = now - start
        if elapsed >= Self.period * 2 { return 0 }
        if elapsed >= Self.period { return Double(bytes) / (elapsed / .seconds(1)) }
        guard let earlierBytes else { return nil }
        return Double(earlierBytes + bytes) / ((elapsed + Self.period) / .seconds(1))
    }
}
