import Postgres
import Synchronization

/// Counts this node's writes to the database that have begun and not ended.
final class PendingWriteTracker: Sendable {
    private let begun = Atomic(0)
    private let over = Atomic(0)

    func begin() { begun.add(1, ordering: .acquiringAndReleasing) }

    /// Records that a write has ended, committed or not. The caller then signals the task that waits.
    func end() { over.add(1, ordering: .acquiringAndReleasing) }

    /// Returns when as many writes have ended as had begun at the call, or at the limit.
    ///
    /// - Parameter signal: signalled after each write that ends. This method consumes its signals.
    /// - Throws: if the task is cancelled.
    func wait(until limit: ContinuousClock.Instant, on signal: WakeSignal) async throws(CancellationError) {
        let begun = begun.load(ordering: .acquiring)
        while over.load(ordering: .acquiring) < begun, .now < limit { try await signal.next(by: limit) }
    }
}
