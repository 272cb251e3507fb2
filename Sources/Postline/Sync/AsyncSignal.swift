import Concurrency
import NIOConcurrencyHelpers

/// A signal that wakes the task that waits for it. A signal before the wait is not lost; several count as one.
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

    /// Discards a signal that was not waited for.
    func reset() { state.withLockedValue { $0.isSignalled = false } }

    /// Waits for a signal or the task's cancellation. For one task at a time.
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

    /// Waits for a signal or the task's cancellation, at most for `limit`.
    func wait(atMost limit: Duration) async {
        await withTaskGroup { group in
            group.addTask { await self.wait() }
            group.addTask { try? await Task.sleep(for: limit) }
            await group.next()
            group.cancelAll()
        }
    }
}
