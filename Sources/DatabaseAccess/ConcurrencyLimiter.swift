import Concurrency
package import Foundations
package import Postgres
package import WireProtocol

/// Limits concurrency. Waiting addresses and clients take turns, and each client's requests run in order.
///
/// When thousands of clients reconnect at once, their requests wait here rather than for pool connections, so that the
/// database stays available to other clients.
package actor ConcurrencyLimiter {
    private struct Waiter {
        let until: ContinuousClock.Instant
        let owner: RequestOwner?
        let continuation: CheckedContinuation<Result<Void, ProtocolError>, Never>
    }

    private let width: Int
    private let share: Int?
    private let groupShare: Int?
    private let waitTimeout: Duration
    private var inside = 0
    private var insideByOwner: [String: Int] = [:]
    private var insideByGroup: [RequestOwner.Group: Int] = [:]
    private var waiting = FairQueue<Waiter>()

    private nonisolated let reactor: Reactor
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    /// The maximum number of waiting requests of one client, if it has a share.
    package static let maxWaiting = 256

    /// - Parameters:
    ///   - width: the maximum concurrency; by default unlimited.
    ///   - share: the maximum concurrency of one client; nil for no limit.
    ///   - groupShare: the maximum concurrency of the users, or the guests, of one address; nil for no limit.
    ///   - waitTimeout: the maximum wait. A request that exceeds it fails when its turn comes.
    ///   - reactor: the thread of the database's connections.
    package init(
        width: Int = .max, share: Int? = nil, groupShare: Int? = nil, waitTimeout: Duration = .seconds(30),
        on reactor: Reactor
    ) {
        self.width = width
        self.share = share
        self.groupShare = groupShare
        self.waitTimeout = waitTimeout
        self.reactor = reactor
    }

    /// The number of waiting requests.
    package var waitingCount: Int { waiting.count }

    /// Runs `work` when its turn comes, on the reactor's thread.
    ///
    /// - Parameter owner: the client whose share it uses; nil for none.
    /// - Throws: `unavailable` after the wait timeout, `timeout` if the task was cancelled meanwhile, `rate_limited` if
    ///   too many requests of the client wait, or the error of `work`.
    package func run<Value: Sendable>(
        for owner: RequestOwner? = nil, _ work: @Sendable () async throws(ProtocolError) -> Value
    ) async throws(ProtocolError) -> Value {
        let admission: Result<Void, ProtocolError> = await withSuspension { caller in
            if inside < width, owner.map({ mayEnter($0.group) && mayEnter($0) }) ?? true {
                enter(owner)
                return .resume(.success(()))
            }
            if share != nil, let owner, waiting.count(of: owner) >= Self.maxWaiting {
                return .resume(
                    .failure(.rateLimited("Too many of your requests wait.", retryAfter: .seconds(1))))
            }
            waiting.append(Waiter(until: .now + waitTimeout, owner: owner, continuation: caller), of: owner)
            return .suspend
        }
        try admission.get()
        defer { leave(owner) }
        if Task.isCancelled { throw .timeout }
        return try await work()
    }

    /// Runs `work` as `run(for:_:)` does, for the client at an address, whoever is signed in there.
    package func run<Value: Sendable>(
        at address: AddressKey, _ work: @Sendable () async throws(ProtocolError) -> Value
    ) async throws(ProtocolError) -> Value {
        try await run(for: RequestOwner(address), work)
    }

    private func mayEnter(_ owner: RequestOwner) -> Bool {
        share.map { insideByOwner[owner.id, default: 0] < $0 } ?? true
    }

    private func mayEnter(_ group: RequestOwner.Group) -> Bool {
        groupShare.map { insideByGroup[group, default: 0] < $0 } ?? true
    }

    private func enter(_ owner: RequestOwner?) {
        inside += 1
        guard let owner else { return }
        if share != nil { insideByOwner[owner.id, default: 0] += 1 }
        if groupShare != nil { insideByGroup[owner.group, default: 0] += 1 }
    }

    /// Passes the free slot to the next request.
    private func leave(_ owner: RequestOwner?) {
        inside -= 1
        if let owner {
            if share != nil { insideByOwner.subtract(from: owner.id) }
            if groupShare != nil { insideByGroup.subtract(from: owner.group) }
        }
        let now = ContinuousClock.now
        while inside < width, let next = waiting.popFirst(from: mayEnter, where: mayEnter) {
            guard next.until >= now else {
                next.continuation.resume(returning: .failure(.unavailable))
                continue
            }
            enter(next.owner)
            next.continuation.resume(returning: .success(()))
        }
    }
}
