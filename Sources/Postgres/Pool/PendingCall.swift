import Synchronization

/// The calls that one caller has a pool run, as both sides know them.
final class PendingCall: Sendable {
    let id: Int
    let calls: [Call]
    let deadline: ContinuousClock.Instant?

    /// Called on the pool's thread when it has succeeded, before the caller has its rows.
    let succeeded: (@Sendable () -> Void)?

    /// When it was asked for.
    let asked = ContinuousClock.now

    /// Set before the pool is told so, since it may know nothing of the call yet.
    let isCancelled = Atomic(false)

    init(
        _ id: Int, _ calls: [Call], until deadline: ContinuousClock.Instant?, succeeded: (@Sendable () -> Void)? = nil
    ) {
        self.id = id
        self.calls = calls
        self.deadline = deadline
        self.succeeded = succeeded
    }
}
