import Testing

@testable import Messaging

@Suite("What is done about a key")
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

    @Test("a set is used for its time, and fetched anew for a key that it has not, once a minute")
    func fresh() {
        var cache = KeySetCache<Set<String>>()
        #expect(step(cache, "a", at: 0) == "fetch")
        cache.fetched(["a"], lifetime: .seconds(600), at: start)
        #expect(step(cache, "a", at: 599) == "use a")
        #expect(step(cache, "b", at: 59) == "unknown")
        #expect(step(cache, "b", at: 60) == "fetch")
        #expect(step(cache, "a", at: 600) == "fetch")
    }

    @Test("where none comes, what is there is used for a day, and asked for once a minute")
    func stale() {
        var cache = KeySetCache<Set<String>>()
        cache.fetched(["a"], lifetime: .seconds(600), at: start)
        cache.failed(at: start + .seconds(600))
        #expect(step(cache, "a", at: 659) == "use a")
        #expect(step(cache, "b", at: 659) == "unavailable")
        #expect(step(cache, "a", at: 660) == "fetch")
        cache.failed(at: start + .seconds(87_000))
        #expect(step(cache, "a", at: 87_001) == "unavailable")
    }

    @Test("where there was never one, it is asked for every five seconds")
    func none() {
        var cache = KeySetCache<Set<String>>()
        cache.failed(at: start)
        #expect(step(cache, "a", at: 4) == "unavailable")
        #expect(step(cache, "a", at: 5) == "fetch")
    }

    @Test("a set that is for good is never fetched again")
    func forGood() {
        var cache = KeySetCache<Set<String>>()
        cache.fetched(["a"], lifetime: nil, at: start)
        #expect(step(cache, "a", at: 1_000_000) == "use a")
        #expect(step(cache, "b", at: 1_000_000) == "unknown")
    }
}
