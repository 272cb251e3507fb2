import BoundedWait
@testable import ChangeFeed
import Postgres
import Testing

@Suite("Pending write tracker")
struct PendingWriteTrackerTests {
    private let writes = PendingWriteTracker()
    private let signal = WakeSignal(on: Reactor(name: "writes"))
    private let far = ContinuousClock.now + watchdogLimit

    @Test("does not wait without pending writes")
    func none() async throws {
        writes.begin()
        writes.end()
        signal.signal()
        try await writes.wait(until: far, on: signal)
        try await signal.next()
        #expect(.now < far)
    }

    @Test("waits for all pending writes")
    func some() async throws {
        writes.begin()
        writes.begin()
        async let end: Void = writes.wait(until: far, on: signal)
        for _ in 0..<2 {
            writes.end()
            signal.signal()
        }
        try await end
        #expect(.now < far)
    }

    @Test("stops waiting at the timeout")
    func late() async throws {
        writes.begin()
        let limit = ContinuousClock.now + .milliseconds(1)
        try await writes.wait(until: limit, on: signal)
        #expect(.now >= limit)
    }
}
