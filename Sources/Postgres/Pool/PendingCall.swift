import Synchronization

/// The calls of one request to a pool, shared by caller and pool.
final class PendingCall: Sendable {
    let id: Int
    let calls: [Call]
    let deadline: ContinuousClock.Instant?

    /// The owner; nil for the service's own work.
    let owner: RequestOwner?

    /// True if the calls do not wait for the owner's share, which is charged with them.
    let isAdmitted: Bool

    /// True if they may wait long for a lock.
    let isLockWaiter: Bool

    /// Called on the pool's thread on success, before the caller has its rows.
    let succeeded: (@Sendable () -> Void)?

    /// The time of the request.
    let requestedAt = ContinuousClock.now

    /// Set before the pool is notified, since the pool may not know the call yet.
    let isCancelled = Atomic(false)

    init(
        _ id: Int, _ calls: [Call], of owner: RequestOwner?, isAdmitted: Bool = false, isLockWaiter: Bool,
        until deadline: ContinuousClock.Instant?, succeeded: (@Sendable () -> Void)? = nil
    ) {
        self.id = id
        self.calls = calls
        self.owner = owner
        self.isAdmitted = isAdmitted
        self.isLockWaiter = isLockWaiter
        self.deadline = deadline
        self.succeeded = succeeded
    }
}
