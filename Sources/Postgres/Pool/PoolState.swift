/// What a pool decides, without doing any of it.
///
/// Events go in, actions come out; time and chance are given, so that every decision can be tested. A connection is a
/// number here, never given twice, so that news of one that is gone changes nothing.
struct PoolState {
    typealias Instant = ContinuousClock.Instant

    /// What the pool is to do.
    enum Action: Equatable {
        /// Start the request on the connection.
        case start(request: Int, connection: Int)
        /// Tell the request's caller that it is not started, and why.
        case refuse(request: Int, String)
        /// Try to open a connection, and report `opened` or `openFailed`.
        case open(connection: Int)
        /// Close the connection; it is forgotten already.
        case close(connection: Int)
        /// All is closed.
        case finish
    }

    private enum Phase {
        case opening
        case idle
        case busy
    }

    private enum Mode {
        case notStarted
        case open
        case closing(until: Instant)
        case closed
    }

    let size: Int
    private var mode = Mode.notStarted
    private var phases: [Int: Phase] = [:]
    /// The last one used comes first: its caches are warm.
    private var idle: [Int] = []
    private(set) var busyCount = 0
    private var queue = RequestQueue()
    private var nextConnection = 0

    private var backoff: Backoff
    /// Before this nothing is opened.
    private var retryAt: Instant?
    /// Why the last attempt to open failed, while none has succeeded since.
    private var failure: String?

    /// When `woke` is wanted next.
    private(set) var nextWake: Instant?

    private(set) var openedCount = 0
    private(set) var failedCount = 0
    private(set) var lostCount = 0
    private(set) var refusedCount = 0

    init(size: Int, backoff: Backoff) {
        precondition(size > 0, "a pool has one connection at least")
        self.size = size
        self.backoff = backoff
    }

    var idleCount: Int { idle.count }
    var openingCount: Int { phases.count - idle.count - busyCount }
    var waitingCount: Int { queue.count }

    /// No connection is there, and the last attempt to open one failed: waiting would be in vain.
    var isAway: Bool { failure != nil && idle.isEmpty && busyCount == 0 }

    /// The pool begins to keep its connections.
    mutating func start(now: Instant) -> [Action] {
        guard case .notStarted = mode else { return [] }
        mode = .open
        return fill(now: now)
    }

    /// A request comes, and waits for a connection until `deadline`.
    mutating func request(_ request: Int, until deadline: Instant, now: Instant) -> [Action] {
        switch mode {
        case .closing, .closed: return [refusal(request, "the pool is closed")]
        case .notStarted, .open: break
        }
        if let connection = idle.popLast() { return [start(request, on: connection)] }
        if let failure, isAway { return [refusal(request, failure)] }
        queue.append(request, until: deadline)
        wake(by: deadline)
        return []
    }

    /// A request is not wanted any more.
    ///
    /// - Returns: Whether it was still waiting.
    mutating func cancel(_ request: Int) -> Bool { queue.remove(request) }

    /// The connection's request has ended; a connection that is not reusable is closed and replaced.
    mutating func finished(connection: Int, reusable: Bool, now: Instant) -> [Action] {
        guard phases[connection] == .busy else { return [] }
        busyCount -= 1
        guard reusable else {
            phases[connection] = nil
            return [.close(connection: connection)] + replace(now: now)
        }
        // It has served: what made the last ones fail is over.
        backoff.reset()
        return offer(connection)
    }

    /// A connection ended by itself.
    mutating func lost(connection: Int, now: Instant) -> [Action] {
        switch phases.removeValue(forKey: connection) {
        case nil: return []
        case .opening: break
        case .idle: idle.removeAll { $0 == connection }
        case .busy: busyCount -= 1
        }
        lostCount += 1
        return replace(now: now)
    }

    /// Closes idle connections that are not wanted any more, and replaces them.
    mutating func discardIdle(now: Instant, where isUnwanted: (Int) -> Bool) -> [Action] {
        let unwanted = idle.filter(isUnwanted)
        guard !unwanted.isEmpty else { return [] }
        idle.removeAll(where: unwanted.contains)
        for connection in unwanted { phases[connection] = nil }
        return unwanted.map { .close(connection: $0) } + replace(now: now)
    }

    /// The attempt to open a connection has succeeded.
    mutating func opened(connection: Int, now: Instant) -> [Action] {
        guard phases[connection] == .opening else { return [.close(connection: connection)] }
        openedCount += 1
        failure = nil
        return offer(connection) + fill(now: now)
    }

    /// The attempt to open a connection has failed.
    mutating func openFailed(connection: Int, _ reason: String, now: Instant) -> [Action] {
        guard phases.removeValue(forKey: connection) != nil else { return [] }
        failedCount += 1
        failure = reason
        var actions = replace(now: now)
        if isAway {
            while let request = queue.popFirst() { actions.append(refusal(request, reason)) }
        }
        return actions
    }

    /// The time `nextWake` has come.
    mutating func woke(now: Instant) -> [Action] {
        nextWake = nil
        var actions: [Action] = []
        for request in queue.removeExpired(now: now) {
            actions.append(refusal(request, failure ?? "all \(size) connections stayed in use"))
        }
        if case .closing(let limit) = mode, limit <= now { actions += closeAll() }
        if let retryAt, retryAt <= now {
            self.retryAt = nil
            actions += fill(now: now)
        }
        scheduleWake()
        return actions
    }

    /// The pool ends: what waits is refused, what runs may last until `limit`.
    mutating func close(until limit: Instant) -> [Action] {
        switch mode {
        case .closing, .closed: return []
        case .notStarted, .open: break
        }
        mode = .closing(until: limit)
        retryAt = nil
        var actions: [Action] = []
        while let request = queue.popFirst() { actions.append(refusal(request, "the pool is closed")) }
        for connection in idle { actions.append(.close(connection: connection)) }
        idle = []
        phases = phases.filter { $0.value == .busy }
        wake(by: limit)
        return actions + finishIfEmpty()
    }

    private mutating func start(_ request: Int, on connection: Int) -> Action {
        phases[connection] = .busy
        busyCount += 1
        return .start(request: request, connection: connection)
    }

    private mutating func refusal(_ request: Int, _ reason: String) -> Action {
        refusedCount += 1
        return .refuse(request: request, reason)
    }

    /// A free connection takes the request that has waited longest.
    private mutating func offer(_ connection: Int) -> [Action] {
        if case .closing = mode {
            phases[connection] = nil
            return [.close(connection: connection)] + finishIfEmpty()
        }
        if let request = queue.popFirst() { return [start(request, on: connection)] }
        phases[connection] = .idle
        idle.append(connection)
        return []
    }

    /// Makes up for a connection that is gone, after a wait: many nodes lose theirs at the same moment.
    private mutating func replace(now: Instant) -> [Action] {
        guard case .open = mode else { return finishIfEmpty() }
        if retryAt == nil {
            let time = now + backoff.next()
            retryAt = time
            wake(by: time)
        }
        return []
    }

    /// Opens what is missing; while the last attempt has failed, one at a time to see whether the database is back.
    private mutating func fill(now: Instant) -> [Action] {
        guard case .open = mode, retryAt == nil else { return [] }
        let missing = size - phases.count
        let wanted = failure == nil ? missing : min(missing, 1 - openingCount)
        guard wanted > 0 else { return [] }
        return (0..<wanted).map { _ in
            nextConnection += 1
            phases[nextConnection] = .opening
            return .open(connection: nextConnection)
        }
    }

    private mutating func closeAll() -> [Action] {
        let actions = phases.keys.sorted().map { Action.close(connection: $0) }
        phases = [:]
        busyCount = 0
        return actions + finishIfEmpty()
    }

    private mutating func finishIfEmpty() -> [Action] {
        guard case .closing = mode, phases.isEmpty else { return [] }
        mode = .closed
        return [.finish]
    }

    private mutating func wake(by time: Instant) { nextWake = min(time, nextWake ?? time) }

    private mutating func scheduleWake() {
        if let retryAt { wake(by: retryAt) }
        if let deadline = queue.earliestDeadline { wake(by: deadline) }
        if case .closing(let limit) = mode { wake(by: limit) }
    }
}
