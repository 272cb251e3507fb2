import Concurrency
import NIOConcurrencyHelpers

/// A limit of concurrent operations. Tasks wait in order for a slot.
final class SlotLimiter: Sendable {
    private struct State {
        var free: Int
        var waiters: [(id: Int, continuation: CheckedContinuation<Bool, Never>)] = []
        var lastID = 0
    }

    private let state: NIOLockedValueBox<State>

    init(_ slots: Int) { state = NIOLockedValueBox(State(free: slots)) }

    /// Runs a body in a slot.
    ///
    /// - Throws: `CancellationError` if the task is cancelled while it waits, and the body's errors.
    func withSlot<Value>(_ body: () async throws -> Value) async throws -> Value {
        guard await acquire() else { throw CancellationError() }
        defer { release() }
        return try await body()
    }

    /// Returns false if the task was cancelled first.
    private func acquire() async -> Bool {
        let id = state.withLockedValue { state in
            state.lastID += 1
            return state.lastID
        }
        return await withTaskCancellationHandler {
            await withSuspension { waiter in
                state.withLockedValue { state -> Suspension<Bool> in
                    if Task.isCancelled { return .resume(false) }
                    if state.free > 0 {
                        state.free -= 1
                        return .resume(true)
                    }
                    state.waiters.append((id, waiter))
                    return .suspend
                }
            }
        } onCancel: {
            let waiter = state.withLockedValue { state in
                state.waiters.firstIndex { $0.id == id }.map { state.waiters.remove(at: $0) }
            }
            waiter?.continuation.resume(returning: false)
        }
    }

    private func release() {
        let next = state.withLockedValue { state -> CheckedContinuation<Bool, Never>? in
            guard state.waiters.isEmpty else { return state.waiters.removeFirst().continuation }
            state.free += 1
            return nil
        }
        next?.resume(returning: true)
    }
}
