internal import Synchronization

/// The bytes of answers that wait for the clients of all loops of a server, and their bound.
final class UnwrittenAnswers: Sendable {
    private let limit: Int
    private let bytes = Atomic(0)

    init(limit: Int) { self.limit = limit }

    /// Counts what has come to wait for the clients of one loop since its last sweep, or was written.
    ///
    /// - Returns: the bytes beyond the bound; 0 where there are none.
    func changed(by difference: Int) -> Int {
        max(0, bytes.add(difference, ordering: .relaxed).newValue - limit)
    }
}
