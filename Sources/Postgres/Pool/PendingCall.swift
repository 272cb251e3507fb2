import Synchronization

/// The calls that one caller has a pool run, as both sides know them.
final class PendingCall: Sendable {
    let id: Int
    let calls: [Call]
    let deadline: ContinuousClock.Instant?

    /// For whom they are; nil for the service's own work.
    let owner: String?

    /// They wait for a lock for long.
    let isLockWaiter: Bool

    /// Called on the pool's thread when it has succeeded, before the caller has its rows.
    let succeeded: (@Sendable () -> Void)?

    /// When it was asked for.
    let asked = ContinuousClock.now

    /// Set before the pool is told so, since it may know nothing of the call yet.
    let isCancelled = Atomic(false)

    init(
        _ id: Int, _ calls: [Call], of owner: String?, isLockWaiter: Bool, until deadline: ContinuousClock.Instant?,
        succeeded: (@Sendable () -> Void)? = nil
    ) {
        self.id = id
        self.calls = calls
        self.owner = owner
        self.isLockWaiter = isLockWaiter
        self.deadline = deadline
        self.succeeded = succeeded
    }
}
