internal import Postgres
internal import Synchronization

/// What this node is writing to the database, as counts: which of its writes they are nobody asks.
final class PendingWriteTracker: Sendable {
    private let begun = Atomic(0)
    private let over = Atomic(0)

    func begin() { begun.add(1, ordering: .acquiringAndReleasing) }

    /// One is over, committed or not. Whoever waits for that is signalled after it.
    func end() { over.add(1, ordering: .acquiringAndReleasing) }

    /// Returns when as many are over as have begun now, or at that time.
    ///
    /// - Parameter signal: given after each that is over. Its signals are taken.
    /// - Throws: where the task is cancelled.
    func wait(until limit: ContinuousClock.Instant, on signal: WakeSignal) async throws(CancellationError) {
        let begun = begun.load(ordering: .acquiring)
        while over.load(ordering: .acquiring) < begun, .now < limit { try await signal.next(by: limit) }
    }
}
