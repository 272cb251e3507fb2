import Synchronization

/// The bounded total of unhandled requests and unwritten responses in bytes, over all event loops of a server.
final class QueuedBytes: Sendable {
    private let limit: Int
    private let bytes = Atomic(0)

    init(limit: Int) { self.limit = limit }

    /// Adds the change in one loop's queued bytes since its last sweep.
    ///
    /// - Returns: the bytes beyond the bound, or 0.
    func changed(by difference: Int) -> Int {
        max(0, bytes.add(difference, ordering: .relaxed).newValue - limit)
    }
}
