internal import Threads

/// A call that blocks, on a thread of its own: neither Swift's shared pool nor an event loop can spare one.
enum BlockingCall {
    /// - Throws: where there is no thread to have.
    static func value<Value: Sendable>(
        _ call: @escaping @Sendable () -> Value
    ) async throws(DetachedThread.StartFailure) -> Value {
        let result: Result<Value, DetachedThread.StartFailure> = await withSuspension { caller in
            do throws(DetachedThread.StartFailure) {
                try DetachedThread.start(name: "mail") { caller.resume(returning: .success(call())) }
                return .suspend
            } catch {
                return .resume(.failure(error))
            }
        }
        return try result.get()
    }
}
