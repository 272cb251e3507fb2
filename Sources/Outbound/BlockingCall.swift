package import Concurrency

/// Runs a blocking call on a separate thread, since neither Swift's shared pool nor an event loop can spare one.
package enum BlockingCall {
    /// - Throws: if no thread can be created.
    package static func value<Value: Sendable>(
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
