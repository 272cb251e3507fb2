import Foundations
import Testing

@Suite struct BackoffTests {
    /// A generator that always returns the same number.
    struct Constant: RandomNumberGenerator {
        let number: UInt64
        func next() -> UInt64 { number }
    }

    @Test("doubles the bound up to the limit")
    func bounds() {
        var backoff = Backoff(base: .milliseconds(100), limit: .seconds(1))
        var bounds: [Duration] = []
        for _ in 0..<6 {
            bounds.append(backoff.bound)
            _ = backoff.next()
        }
        #expect(bounds == [100, 200, 400, 800, 1_000, 1_000].map { .milliseconds($0) })
        for _ in 0..<10_000 { _ = backoff.next() }
        #expect(backoff.bound == .seconds(1))
    }

    @Test("draws the wait between zero and the bound")
    func jitter() {
        var lowest = Constant(number: 0)
        var highest = Constant(number: .max)
        var backoff = Backoff(base: .milliseconds(100), limit: .seconds(1))
        #expect(backoff.next(using: &lowest) == .zero)
        let long = backoff.next(using: &highest)
        #expect(long > .milliseconds(199) && long <= .milliseconds(200))
        let waits = (0..<1_000).map { _ in
            var backoff = Backoff(base: .milliseconds(100), limit: .seconds(1))
            return backoff.next()
        }
        #expect(waits.allSatisfy { $0 >= .zero && $0 <= .milliseconds(100) })
        #expect(waits.contains { $0 < .milliseconds(20) })
        #expect(waits.contains { $0 > .milliseconds(80) })
    }

    @Test("restarts at the base after a reset")
    func reset() {
        var backoff = Backoff(base: .milliseconds(100), limit: .seconds(1))
        for _ in 0..<5 { _ = backoff.next() }
        backoff.reset()
        #expect(backoff.bound == .milliseconds(100))
    }
}
