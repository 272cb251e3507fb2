/// What is decided about a task that may have to wait.
public enum Suspension<Value: Sendable>: Sendable {
    /// It goes on at once, with this.
    case resume(Value)

    /// Its continuation is kept by whoever will resume it.
    case suspend
}

/// Waits for what somebody else gives, unless it is there already.
///
/// Whether to wait is decided, and the continuation kept, in one synchronous step. Between a decision taken before a
/// suspension and the suspension itself others may run: a task that prefers an executor is enqueued anew on its way in.
/// Whoever was to wake it finds nobody then and leaves, and it waits for ever. So this is the one place of the sources
/// where a continuation is made (`SuspensionTests` holds them to it).
///
/// - Parameter decide: Runs at once, on the caller's actor. It keeps the continuation only where it returns `.suspend`.
/// - Returns: What `decide` gave, or what the continuation is resumed with.
public func withSuspension<Value: Sendable>(
    _ decide: (CheckedContinuation<Value, Never>) -> Suspension<Value>
) async -> Value {
    await withCheckedContinuation { continuation in
        switch decide(continuation) {
        case .resume(let value): continuation.resume(returning: value)
        case .suspend: break
        }
    }
}
