import ChangeFeed
import Concurrency
import Synchronization

/// The number of arrivals at all watchers together.
final class Tally: Sendable {
    fileprivate struct State {
        var count = 0
        var target = Int.max
        var waiter: CheckedContinuation<Void, Never>?
        var lastTime = ContinuousClock.now
    }

    private let state = Mutex(State())

    var count: Int { state.withLock { $0.count } }

    /// The time of the latest arrival.
    var lastTime: ContinuousClock.Instant { state.withLock { $0.lastTime } }

    func reset() { state.withLock { $0.count = 0 } }

    func add(_ count: Int, at time: ContinuousClock.Instant) {
        let waiter = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.count += count
            state.lastTime = time
            return state.count >= state.target ? state.release() : nil
        }
        waiter?.resume()
    }

    /// Waits for the given total. Only one task may wait.
    ///
    /// - Throws: `BenchError` if it is not reached within ten seconds.
    func reach(_ target: Int) async throws {
        let deadline = Task {
            // The wait below cancels this task when it ends.
            try await Task.sleep(for: .seconds(10))
            state.withLock { $0.release() }?.resume()
        }
        await withSuspension { caller in
            state.withLock { state in
                if state.count >= target { return .resume(()) }
                state.target = target
                state.waiter = caller
                return .suspend
            }
        }
        deadline.cancel()
        let count = count
        guard count >= target else { throw BenchError("\(target - count) changes did not come.") }
    }
}

extension Tally.State {
    fileprivate mutating func release() -> CheckedContinuation<Void, Never>? {
        target = .max
        defer { waiter = nil }
        return waiter
    }
}
