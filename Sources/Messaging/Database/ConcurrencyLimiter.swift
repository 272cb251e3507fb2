internal import Postgres
internal import Threads

/// Limits concurrency, first in, first out.
///
/// When thousands of clients come back at once, what each of them needs waits here rather than for the pool's
/// connections, so that these, the processors and PostgreSQL have room for those who are there already.
actor ConcurrencyLimiter {
    private let width: Int
    private var inside = 0
    private var waiting: WaitingQueue<CheckedContinuation<Bool, Never>>

    private nonisolated let reactor: Reactor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - width: how many are let in at once.
    ///   - patience: for how long one waits that is let in still; it learns that when it would be its turn.
    ///   - reactor: the thread of the database's connections.
    init(width: Int, patience: Duration = .seconds(30), on reactor: Reactor) {
        self.width = width
        waiting = WaitingQueue(patience: patience)
        self.reactor = reactor
    }

    /// How many wait.
    var waitingCount: Int { waiting.count }

    /// Does something when it is its turn, on the reactor's thread.
    ///
    /// - Throws: `unavailable` where that took too long, or what `work` throws.
    func run<Value: Sendable>(
        _ work: @Sendable () async throws(ProtocolError) -> Value
    ) async throws(ProtocolError) -> Value {
        let isLetIn: Bool = await suspended { caller in
            if inside < width {
                inside += 1
                return .over(true)
            }
            waiting.append(caller)
            return .kept
        }
        guard isLetIn else { throw .unavailable }
        defer { letNextIn() }
        return try await work()
    }

    /// Gives the place that has come free to the next in line.
    private func letNextIn() {
        for late in waiting.popLate() { late.resume(returning: false) }
        if let next = waiting.popFirst() { next.resume(returning: true) } else { inside -= 1 }
    }
}
