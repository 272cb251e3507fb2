@testable import Accounts
import Testing

@Suite("Key set cache")
struct KeySetCacheTests {
    private let start = ContinuousClock.now

    private func step(_ cache: KeySetCache<Set<String>>, _ key: String, at seconds: Int) -> String {
        switch cache.step(at: start + .seconds(seconds), hasKey: { $0.contains(key) }) {
        case .use(let keys): "use \(keys.sorted().joined(separator: " "))"
        case .fetch: "fetch"
        case .unknownKey: "unknown"
        case .unavailable: "unavailable"
        }
    }

    @Test("refetches for an unknown key at most once a minute")
    func fresh() {
        var cache = KeySetCache<Set<String>>()
        #expect(step(cache, "a", at: 0) == "fetch")
        cache.recordFetch(["a"], lifetime: .seconds(600), at: start)
        #expect(step(cache, "a", at: 599) == "use a")
        #expect(step(cache, "b", at: 59) == "unknown")
        #expect(step(cache, "b", at: 60) == "fetch")
        #expect(step(cache, "a", at: 600) == "fetch")
    }

    @Test("uses an expired set for a day if fetches fail")
    func stale() {
        var cache = KeySetCache<Set<String>>()
        cache.recordFetch(["a"], lifetime: .seconds(600), at: start)
        cache.recordFailure(at: start + .seconds(600))
        #expect(step(cache, "a", at: 659) == "use a")
        #expect(step(cache, "b", at: 659) == "unavailable")
        #expect(step(cache, "a", at: 660) == "fetch")
        cache.recordFailure(at: start + .seconds(87_000))
        #expect(step(cache, "a", at: 87_001) == "unavailable")
    }

    @Test("retries every five seconds without a set")
    func none() {
        var cache = KeySetCache<Set<String>>()
        cache.recordFailure(at: start)
        #expect(step(cache, "a", at: 4) == "unavailable")
        #expect(step(cache, "a", at: 5) == "fetch")
    }

    @Test("never refetches a set without expiry")
    func forGood() {
        var cache = KeySetCache<Set<String>>()
        cache.recordFetch(["a"], lifetime: nil, at: start)
        #expect(step(cache, "a", at: 1_000_000) == "use a")
        #expect(step(cache, "b", at: 1_000_000) == "unknown")
    }
}
