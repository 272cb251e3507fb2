/// An exponential back-off with full jitter, so that clients do not reconnect at the same time.
struct Backoff {
    private var failures = 0

    mutating func reset() { failures = 0 }

    /// Returns a random delay: up to 0.5 s after the first failure, doubled with each, up to 30 s.
    mutating func next() -> Duration {
        failures = min(failures + 1, 7)
        return .milliseconds(Int.random(in: 0...min(30_000, 250 << failures)))
    }
}
