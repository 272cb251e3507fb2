package import Foundations
package import Logging
import Synchronization

/// Logs stored password hashes that cannot be verified, once per user.
package final class UnreadableHashes: Sendable {
    private let logger: Logger
    private let reported = Mutex<Set<ID>>([])

    /// Stops logging after 10,000 users, to bound memory. They usually stem from one import.
    private static let maxReported = 10_000

    package init(logger: Logger) { self.logger = logger }

    package func report(_ user: ID) {
        let isNew = reported.withLock { $0.count < Self.maxReported && $0.insert(user).inserted }
        guard isNew else { return }
        logger.warning("a stored password hash cannot be used", metadata: ["user": "\(user)"])
    }
}
