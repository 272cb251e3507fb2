@testable import DatabaseAccess
@testable import Foundations
import Postgres
import Synchronization
import Testing

@Suite("Guest limiter", .timeLimit(.minutes(1)))
struct GuestLimiterTests {
    @Test("limits the guests of an address together, and no other address")
    func concurrency() async throws {
        let limiter = GuestLimiter(width: 2, on: Reactor(name: "test"))
        let running = Running()
        let begun = AsyncStream.makeStream(of: Void.self)
        let gate = AsyncStream.makeStream(of: Void.self)
        try await withThrowingTaskGroup { group in
            for number in 0..<5 {
                group.addTask {
                    try await limiter.run(at: AddressKey("192.0.2.1"), for: "guest \(number)") {
                        #expect(running.enter() <= 2)
                        begun.continuation.yield()
                        for await _ in gate.stream { break }
                        running.leave()
                    }
                }
            }
            var starts = begun.stream.makeAsyncIterator()
            for _ in 0..<2 { _ = await starts.next() }
            try await limiter.run(at: AddressKey("192.0.2.2"), for: "another") { #expect(running.count == 2) }
            #expect(limiter.count == 1)
            for _ in 0..<3 {
                gate.continuation.yield()
                _ = await starts.next()
            }
            gate.continuation.finish()
            try await group.waitForAll()
        }
        #expect(limiter.count == 0)
    }
}

/// A count of running requests.
private final class Running: Sendable {
    private let value = Mutex(0)

    var count: Int { value.withLock { $0 } }

    func enter() -> Int {
        value.withLock { value in
            value += 1
            return value
        }
    }

    func leave() { value.withLock { $0 -= 1 } }
}
