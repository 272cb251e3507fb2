import BoundedWait
import Testing

@testable import Postgres

@Suite("A signal that wakes one task")
struct WakeSignalTests {
    private let signal = WakeSignal(on: Reactor(name: "signal"))
    private let far = ContinuousClock.now + watchdogLimit

    @Test("is found by who comes after it, once")
    func before() async throws {
        signal.signal()
        signal.signal()
        try await signal.next()
        let limit = ContinuousClock.now + .milliseconds(1)
        try await signal.next(by: limit)
        #expect(.now >= limit)
    }

    @Test("wakes who waits for it until a time, before that")
    func waiting() async throws {
        async let next: Void = signal.next(by: far)
        await Task.yield()
        signal.signal()
        try await next
        #expect(.now < far)
    }

    @Test("lets nobody wait past that time, and stays for the next")
    func late() async throws {
        let past = ContinuousClock.now
        try await signal.next(by: past)
        async let next: Void = signal.next()
        signal.signal()
        try await next
    }

    @Test("lets go whoever is cancelled, however long it would wait")
    func cancelled() async throws {
        let waiter = Task { [signal, far] in try await signal.next(by: far) }
        waiter.cancel()
        await #expect(throws: CancellationError.self) { try await waiter.value }
    }
}
