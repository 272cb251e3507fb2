import BoundedWait
import Testing

@testable import Postgres

@Suite("Wake signal")
struct WakeSignalTests {
    private let signal = WakeSignal(on: Reactor(name: "signal"))
    private let far = ContinuousClock.now + watchdogLimit

    @Test("is received once by a later wait")
    func before() async throws {
        signal.signal()
        signal.signal()
        try await signal.next()
        let limit = ContinuousClock.now + .milliseconds(1)
        #expect(try await !signal.next(by: limit))
        #expect(.now >= limit)
    }

    @Test("wakes a waiting task before its timeout")
    func waiting() async throws {
        async let isSignalled = signal.next(by: far)
        await Task.yield()
        signal.signal()
        #expect(try await isSignalled)
        #expect(.now < far)
    }

    @Test("ends a wait at its timeout and keeps a later signal")
    func late() async throws {
        let past = ContinuousClock.now
        #expect(try await !signal.next(by: past))
        async let next: Void = signal.next()
        signal.signal()
        try await next
    }

    @Test("ends the wait of a cancelled task")
    func cancelled() async throws {
        let waiter = Task { [signal, far] in try await signal.next(by: far) }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
    }
}
