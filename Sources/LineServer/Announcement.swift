import Synchronization

/// A value that comes once, for whoever waits for it.
final class Announcement<Value: Sendable>: Sendable {
    private enum State {
        case waiting([CheckedContinuation<Value, any Error>])
        case announced(Result<Value, any Error>)
    }

    private let state = Mutex(State.waiting([]))

    func value() async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            let result = self.state.withLock { state -> Result<Value, any Error>? in
                switch state {
                case .waiting(let others):
                    state = .waiting(others + [continuation])
                    return nil
                case .announced(let result):
                    return result
                }
            }
            if let result { continuation.resume(with: result) }
        }
    }

    func succeed(_ value: Value) { self.announce(.success(value)) }

    func fail(_ error: any Error) { self.announce(.failure(error)) }

    /// The first announcement stands.
    private func announce(_ result: Result<Value, any Error>) {
        let waiting = self.state.withLock { state -> [CheckedContinuation<Value, any Error>] in
            guard case .waiting(let waiting) = state else { return [] }
            state = .announced(result)
            return waiting
        }
        for continuation in waiting { continuation.resume(with: result) }
    }
}
