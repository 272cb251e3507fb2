/// The decision of a task that may have to wait.
package enum Suspension<Value: Sendable>: Sendable {
    /// Resumes at once with this value.
    case resume(Value)

    /// Suspends. The decision has kept the continuation, for another task to resume.
    case suspend
}

/// Suspends the caller unless its value is available.
///
/// The decision and the keeping of the continuation are one synchronous step. Between an earlier decision and the
/// suspension other tasks can run, since a task that prefers an executor is enqueued again on entry. A task that was to
/// wake this one would find no waiter, and this one would wait forever. So this is the only place in the sources that
/// creates a continuation (`SuspensionTests` verifies it).
///
/// - Parameter decide: Runs at once, on the caller's actor. It keeps the continuation only if it returns `.suspend`.
/// - Returns: The value from `decide`, or the value that the continuation is resumed with.
package func withSuspension<Value: Sendable>(
    _ decide: (CheckedContinuation<Value, Never>) -> Suspension<Value>
) async -> Value {
    await withCheckedContinuation { continuation in
        switch decide(continuation) {
        case .resume(let value): continuation.resume(returning: value)
        case .suspend: break
        }
    }
}
