internal import Logging
internal import Synchronization

/// Tells the log of stored password hashes that cannot be verified, of each user's once.
final class UnreadableHashes: Sendable {
    private let logger: Logger
    private let told = Mutex<Set<ID>>([])

    /// Of more users it says nothing: so many came from one place, and the first of them tell as much.
    private static let most = 10_000

    init(logger: Logger) { self.logger = logger }

    func note(_ user: ID) {
        let isNew = told.withLock { $0.count < Self.most && $0.insert(user).inserted }
        guard isNew else { return }
        logger.warning("a stored password hash cannot be used", metadata: ["user": "\(user)"])
    }
}
