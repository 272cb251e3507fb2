internal import Postgres
internal import Threads

/// Lets so many do something at once, in the order in which they came.
///
/// When thousands of clients come back at once, what each of them needs waits here rather than for the pool's
/// connections, so that these, the processors and PostgreSQL have room for those who are there already.
actor Turnstile {
    private let width: Int
    private let patience: Duration
    private var inside = 0

    /// Who waits, from `head` on.
    private var line: [Waiter] = []
    private var head = 0

    private struct Waiter {
        let until: ContinuousClock.Instant
        let turn: CheckedContinuation<Bool, Never>
    }

    private nonisolated let reactor: Reactor
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    /// - Parameters:
    ///   - width: how many are let in at once.
    ///   - patience: for how long one waits that is let in still; it learns that when it would be its turn.
    ///   - reactor: the thread of the database's connections.
    init(width: Int, patience: Duration = .seconds(30), on reactor: Reactor) {
        self.width = width
        self.patience = patience
        self.reactor = reactor
    }

    /// How many wait.
    var waitingCount: Int { line.count - head }

    /// Does something when it is its turn, on the reactor's thread.
    ///
    /// - Throws: `unavailable` where that took too long, or what `work` throws.
    func pass<Value: Sendable>(
        _ work: @Sendable () async throws(ProtocolError) -> Value
    ) async throws(ProtocolError) -> Value {
        let isLetIn: Bool = await suspended { caller in
            if inside < width {
                inside += 1
                return .over(true)
            }
            line.append(Waiter(until: .now + patience, turn: caller))
            return .kept
        }
        guard isLetIn else { throw .unavailable }
        defer { letNextIn() }
        return try await work()
    }

    /// Gives the place that has come free to the next in line.
    private func letNextIn() {
        let now = ContinuousClock.now
        while head < line.count {
            let waiter = line[head]
            head += 1
            if head == line.count || head > 1_024 {
                line.removeFirst(head)
                head = 0
            }
            let isInTime = now <= waiter.until
            waiter.turn.resume(returning: isInTime)
            if isInTime { return }
        }
        inside -= 1
    }
}
