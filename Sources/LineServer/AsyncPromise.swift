import Concurrency
import Synchronization

/// A value that is set once and awaited by any number of tasks.
package final class AsyncPromise<Value: Sendable>: Sendable {
    private enum State {
        case waiting([CheckedContinuation<Result<Value, any Error>, Never>])
        case completed(Result<Value, any Error>)
    }

    private let state = Mutex(State.waiting([]))

    package init() {}

    package func value() async throws -> Value {
        let result: Result<Value, any Error> = await withSuspension { caller in
            self.state.withLock { state in
                switch state {
                case .waiting(let others):
                    state = .waiting(others + [caller])
                    return .suspend
                case .completed(let result):
                    return .resume(result)
                }
            }
        }
        return try result.get()
    }

    package func succeed(_ value: Value) { complete(.success(value)) }

    package func fail(_ error: any Error) { complete(.failure(error)) }

    /// Sets the result, unless one is set.
    private func complete(_ result: Result<Value, any Error>) {
        let waiting = self.state.withLock { state -> [CheckedContinuation<Result<Value, any Error>, Never>] in
            guard case .waiting(let waiting) = state else { return [] }
            state = .completed(result)
            return waiting
        }
        for caller in waiting { caller.resume(returning: result) }
    }
}
