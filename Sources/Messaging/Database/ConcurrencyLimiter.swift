internal import Postgres
internal import Threads

/// Limits concurrency; those who wait are served in turn by client, and those of one client in the order of arrival.
///
/// When thousands of clients come back at once, what each of them needs waits here rather than for the pool's
/// connections, so that these, the processors and PostgreSQL have room for those who are there already.
actor ConcurrencyLimiter {
    private struct Waiter {
        let until: ContinuousClock.Instant
        let client: String?
        let continuation: CheckedContinuation<Result<Void, ProtocolError>, Never>
    }

    private let width: Int
    private let share: Int?
    private let waitTimeout: Duration
    private var inside = 0
    private var insideByClient: [String: Int] = [:]
    private var waiting = FairQueue<Waiter>()

    private nonisolated let reactor: Reactor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    /// The number of those of one client that wait at most, where its share is bounded.
    static let mostWaiting = 256

    /// - Parameters:
    ///   - width: how many are let in at once.
    ///   - share: how many of them may be one client's; nil where any number may.
    ///   - waitTimeout: how long one waits that is let in still; it learns that when it would be its turn.
    ///   - reactor: the thread of the database's connections.
    init(width: Int, share: Int? = nil, waitTimeout: Duration = .seconds(30), on reactor: Reactor) {
        self.width = width
        self.share = share
        self.waitTimeout = waitTimeout
        self.reactor = reactor
    }

    /// How many wait.
    var waitingCount: Int { waiting.count }

    /// Does something when it is its turn, on the reactor's thread.
    ///
    /// - Parameter client: whose share it takes; nil where it takes nobody's.
    /// - Throws: `unavailable` where that took too long, `rate_limited` where the client has too many that wait, or
    ///   what `work` throws.
    func run<Value: Sendable>(
        for client: String? = nil, _ work: @Sendable () async throws(ProtocolError) -> Value
    ) async throws(ProtocolError) -> Value {
        let admission: Result<Void, ProtocolError> = await withSuspension { caller in
            if inside < width, mayEnter(client) {
                enter(client)
                return .resume(.success(()))
            }
            if share != nil, let client, waiting.count(of: client) >= Self.mostWaiting {
                return .resume(
                    .failure(.rateLimited("Too many of your requests wait.", retryAfter: .seconds(1))))
            }
            waiting.append(Waiter(until: .now + waitTimeout, client: client, continuation: caller), of: client)
            return .suspend
        }
        try admission.get()
        defer { leave(client) }
        return try await work()
    }

    private func mayEnter(_ client: String?) -> Bool {
        guard let share, let client else { return true }
        return insideByClient[client, default: 0] < share
    }

    private func enter(_ client: String?) {
        inside += 1
        if share != nil, let client { insideByClient[client, default: 0] += 1 }
    }

    /// Gives the place that has come free to the next in turn.
    private func leave(_ client: String?) {
        inside -= 1
        if share != nil, let client {
            let left = insideByClient[client, default: 1] - 1
            insideByClient[client] = left > 0 ? left : nil
        }
        let now = ContinuousClock.now
        while inside < width, let next = waiting.popFirst(where: mayEnter) {
            guard next.until >= now else {
                next.continuation.resume(returning: .failure(.unavailable))
                continue
            }
            enter(next.client)
            next.continuation.resume(returning: .success(()))
        }
    }
}
