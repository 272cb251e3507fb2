internal import Threads

/// A call that blocks, on a thread of its own: neither Swift's shared pool nor an event loop can spare one.
enum BlockingCall {
    /// - Throws: where there is no thread to have.
    static func value<Value: Sendable>(
        _ call: @escaping @Sendable () -> Value
    ) async throws(BareThread.StartFailure) -> Value {
        let result: Result<Value, BareThread.StartFailure> = await suspended { caller in
            do throws(BareThread.StartFailure) {
                try BareThread.start(name: "mail") { caller.resume(returning: .success(call())) }
                return .kept
            } catch {
                return .over(.failure(error))
            }
        }
        return try result.get()
    }
}
