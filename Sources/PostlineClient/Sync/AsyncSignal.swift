import NIOConcurrencyHelpers
import Threads

/// Wakes who waits for it; a ring that comes before the wait is not lost.
final class AsyncSignal: Sendable {
    private struct State {
        var isSignalled = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = NIOLockedValueBox(State())

    func signal() {
        let waiter = state.withLockedValue { state in
            defer { state.waiter = nil }
            if state.waiter == nil { state.isSignalled = true }
            return state.waiter
        }
        waiter?.resume()
    }

    /// Forgets a ring that nobody has waited for.
    func reset() { state.withLockedValue { $0.isSignalled = false } }

    /// Waits for a ring, or the end of the task. For one at a time.
    func wait() async {
        await withTaskCancellationHandler {
            await withSuspension { waiter in
                state.withLockedValue { state in
                    if state.isSignalled || Task.isCancelled {
                        state.isSignalled = false
                        return .resume(())
                    }
                    state.waiter = waiter
                    return .suspend
                }
            }
        } onCancel: {
            signal()
        }
    }

    /// The same, for at most so long.
    func wait(atMost limit: Duration) async {
        await withTaskGroup { group in
            group.addTask { await self.wait() }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }
}
