import BoundedWait
import Postgres
import Testing

@testable import Messaging

@Suite("The writes that a look waits for")
struct PendingWriteTrackerTests {
    private let writes = PendingWriteTracker()
    private let signal = WakeSignal(on: Reactor(name: "writes"))
    private let far = ContinuousClock.now + watchdogLimit

    @Test("with none at work there is no wait, and the signal is left for the next")
    func none() async throws {
        writes.begin()
        writes.end()
        signal.signal()
        try await writes.wait(until: far, on: signal)
        try await signal.next()
        #expect(.now < far)
    }

    @Test("all that are at work are awaited")
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

    @Test("one that does not end is not awaited past the time")
    func late() async throws {
        writes.begin()
        let limit = ContinuousClock.now + .milliseconds(1)
        try await writes.wait(until: limit, on: signal)
        #expect(.now >= limit)
    }
}
