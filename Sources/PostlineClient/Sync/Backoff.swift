/// How long to wait after failures in a row: twice as long each time, up to a bound, and never all clients at once.
struct Backoff {
    private var failures = 0

    mutating func reset() { failures = 0 }

    /// From nothing up to half a second after the first, up to 30 s later.
    mutating func next() -> Duration {
        failures = min(failures + 1, 7)
        return .milliseconds(Int.random(in: 0...min(30_000, 250 << failures)))
    }
}
