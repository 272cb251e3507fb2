import Concurrency
package import Postgres
package import WireProtocol

/// Limits concurrency. Waiting clients take turns, and each client's requests run in order.
///
/// When thousands of clients reconnect at once, their requests wait here rather than for pool connections, so that the
/// database stays available to other clients.
package actor ConcurrencyLimiter {
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
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    /// The maximum number of waiting requests of one client, if it has a share.
    package static let maxWaiting = 256

    /// - Parameters:
    ///   - width: the maximum concurrency.
    ///   - share: the maximum concurrency of one client; nil for no limit.
    ///   - waitTimeout: the maximum wait. A request that exceeds it fails when its turn comes.
    ///   - reactor: the thread of the database's connections.
    package init(width: Int, share: Int? = nil, waitTimeout: Duration = .seconds(30), on reactor: Reactor) {
        self.width = width
        self.share = share
        self.waitTimeout = waitTimeout
        self.reactor = reactor
    }

    /// The number of waiting requests.
    package var waitingCount: Int { waiting.count }

    /// Runs `work` when its turn comes, on the reactor's thread.
    ///
    /// - Parameter client: the client whose share it uses; nil for none.
    /// - Throws: `unavailable` after the wait timeout, `rate_limited` if too many requests of the client wait, or the
    ///   error of `work`.
    package func run<Value: Sendable>(
        for client: String? = nil, _ work: @Sendable () async throws(ProtocolError) -> Value
    ) async throws(ProtocolError) -> Value {
        let admission: Result<Void, ProtocolError> = await withSuspension { caller in
            if inside < width, mayEnter(client) {
                enter(client)
                return .resume(.success(()))
            }
            if share != nil, let client, waiting.count(of: client) >= Self.maxWaiting {
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

    /// Passes the free slot to the next request.
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
