import Foundations

/// The decisions of a pool, as a pure state machine.
///
/// Events go in, actions come out; time and randomness are parameters, so that every decision can be tested. A
/// connection is a number that is never reused, so events of old connections have no effect.
struct PoolState {
    typealias Instant = ContinuousClock.Instant

    /// An action that the pool must perform.
    enum Action: Equatable {
        /// Start the request on the connection.
        case start(request: Int, connection: Int)
        /// Fail the request with this reason.
        case refuse(request: Int, String)
        /// Fail the request because its owner has used up its share.
        case refuseShare(request: Int, retryAfter: Duration)
        /// Open a connection, and report `opened` or `openFailed`.
        case open(connection: Int)
        /// Close the connection, which is no longer tracked.
        case close(connection: Int)
        /// Everything is closed.
        case finish
    }

    /// A request.
    struct Request {
        let id: Int
        /// The owner whose share it waits for; nil for the service's own work, which no share limits.
        var owner: RequestOwner?
        /// The owner whose share is charged, if it does not wait for it.
        var payer: RequestOwner?
        /// True if it may wait long for a lock. Such requests use at most half of the connections.
        var isLockWaiter = false
        /// The time until which it waits for a connection.
        let until: Instant
        /// The time until which it waits for its owner's share; `until`, unless this is later.
        var shareUntil: Instant?
    }

    private struct Waiter {
        let request: Request
        /// True if the owner's share was used up, so that it waits longer.
        var isHeld: Bool

        var deadline: Instant { isHeld ? request.shareUntil ?? request.until : request.until }
    }

    private struct Run {
        let owner: RequestOwner?
        let isLockWaiter: Bool
        let start: Instant
        /// The time of stalls before the start.
        let stalledTime: Duration
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

    /// The time without any answer after which the database has stalled.
    private static let stallThreshold = Duration.seconds(1)

    let size: Int
    private var mode = Mode.notStarted
    private var phases: [Int: Phase] = [:]
    /// The most recently used comes first, since its caches are warm.
    private var idle: [Int] = []
    private(set) var busyCount = 0
    private var runs: [Int: Run] = [:]
    private var queue = FairQueue<Waiter>()
    /// Requests that may wait long for a lock.
    private var lockQueue = FairQueue<Waiter>()
    private var runningLockWaiters = 0
    private var shares: PoolShares
    /// The last time at which the database answered, or a request started while none ran.
    private var lastSign: Instant?
    /// The time of earlier stalls of the database.
    private var stalledTime = Duration.zero
    private var nextConnection = 0

    private var backoff: Backoff
    /// The time before which no connection is opened.
    private var retryAt: Instant?
    /// The error of the last attempt, if none has succeeded since.
    private var failure: String?

    /// The time at which `timerFired` must be called next.
    private(set) var nextWake: Instant?

    private(set) var openedCount = 0
    private(set) var failedCount = 0
    private(set) var lostCount = 0
    private(set) var refusedCount = 0
    private(set) var shareRefusedCount = 0

    init(size: Int, backoff: Backoff, share: PoolShare? = nil) {
        precondition(size > 0, "a pool has at least one connection")
        shares = PoolShares(share, size: size)
        self.size = size
        self.backoff = backoff
    }

    var idleCount: Int { idle.count }
    var openingCount: Int { phases.count - idle.count - busyCount }
    var waitingCount: Int { queue.count + lockQueue.count }

    /// The largest number of connections for requests that wait for a lock.
    var lockWaiterLimit: Int { max(1, size / 2) }

    /// True if there is no connection and the last attempt failed, so that waiting is futile.
    var isUnreachable: Bool { failure != nil && idle.isEmpty && busyCount == 0 }

    /// Starts to maintain the connections.
    mutating func start(now: Instant) -> [Action] {
        guard case .notStarted = mode else { return [] }
        mode = .open
        return fill(now: now)
    }

    /// Returns true if a request of that owner would wait for the owner's other requests, or for its budget.
    func isHeld(_ owner: RequestOwner?, now: Instant) -> Bool {
        guard shares.share != nil, let owner else { return false }
        return !shares.mayRun(owner, now: now) || queue.count(of: owner) + lockQueue.count(of: owner) > 0
    }

    /// Handles a new request.
    mutating func request(_ request: Request, now: Instant) -> [Action] {
        switch mode {
        case .closing, .closed: return [refusal(request.id, "the pool is closed")]
        case .notStarted, .open: break
        }
        let isHeld = self.isHeld(request.owner, now: now)
        let hasRoom = !request.isLockWaiter || runningLockWaiters < lockWaiterLimit
        if !isHeld, hasRoom, let connection = idle.popLast() { return [start(request, on: connection, now: now)] }
        if let failure, isUnreachable { return [refusal(request.id, failure)] }
        if isHeld, let share = shares.share, let owner = request.owner,
            queue.count(of: owner) + lockQueue.count(of: owner) >= share.maxWaiting
        {
            return [shareRefusal(request, now: now)]
        }
        let waiter = Waiter(request: request, isHeld: isHeld)
        if request.isLockWaiter {
            lockQueue.append(waiter, of: request.owner)
        } else {
            queue.append(waiter, of: request.owner)
        }
        wake(by: waiter.deadline)
        if let owner = request.owner, let ready = shares.readyAt(owner, now: now) { wake(by: ready) }
        return []
    }

    /// Cancels a request.
    ///
    /// - Returns: true if it was still waiting.
    mutating func cancel(_ request: Int) -> Bool {
        !queue.remove { $1.request.id == request }.isEmpty || !lockQueue.remove { $1.request.id == request }.isEmpty
    }

    /// Handles the end of a connection's request. A connection that is not reusable is closed and replaced.
    mutating func finished(connection: Int, reusable: Bool, now: Instant) -> [Action] {
        guard phases[connection] == .busy else { return [] }
        if reusable { answered(now: now) }
        ended(connection, isAnswered: reusable, now: now)
        guard reusable else {
            phases[connection] = nil
            return [.close(connection: connection)] + replace(now: now) + startWaiting(now: now)
        }
        // The connection worked, so earlier failures are over.
        backoff.reset()
        return offer(connection, now: now)
    }

    /// Handles the loss of a connection.
    mutating func lost(connection: Int, now: Instant) -> [Action] {
        switch phases.removeValue(forKey: connection) {
        case nil: return []
        case .opening: break
        case .idle: idle.removeAll { $0 == connection }
        case .busy: ended(connection, isAnswered: false, now: now)
        }
        lostCount += 1
        return replace(now: now) + startWaiting(now: now)
    }

    /// Closes and replaces unwanted idle connections.
    mutating func discardIdle(now: Instant, where isUnwanted: (Int) -> Bool) -> [Action] {
        let unwanted = idle.filter(isUnwanted)
        guard !unwanted.isEmpty else { return [] }
        idle.removeAll(where: unwanted.contains)
        for connection in unwanted { phases[connection] = nil }
        return unwanted.map { .close(connection: $0) } + replace(now: now)
    }

    /// Handles a successful connection attempt.
    mutating func opened(connection: Int, now: Instant) -> [Action] {
        guard phases[connection] == .opening else { return [.close(connection: connection)] }
        openedCount += 1
        answered(now: now)
        failure = nil
        return offer(connection, now: now) + fill(now: now)
    }

    /// Handles a failed connection attempt.
    mutating func openFailed(connection: Int, _ reason: String, now: Instant) -> [Action] {
        guard phases.removeValue(forKey: connection) != nil else { return [] }
        failedCount += 1
        failure = reason
        var actions = replace(now: now)
        if isUnreachable {
            actions += refuseAll(reason)
        }
        return actions
    }

    /// Handles the time `nextWake`.
    mutating func timerFired(now: Instant) -> [Action] {
        nextWake = nil
        var actions: [Action] = []
        for waiter in removeExpired(from: \.queue, now: now) + removeExpired(from: \.lockQueue, now: now) {
            if waiter.isHeld, !shares.mayRun(waiter.request.owner, now: now) {
                actions.append(shareRefusal(waiter.request, now: now))
            } else {
                actions.append(refusal(waiter.request.id, failure ?? "all \(size) connections are in use"))
            }
        }
        if case .closing(let limit) = mode, limit <= now { actions += closeAll() }
        if let retryAt, retryAt <= now {
            self.retryAt = nil
            actions += fill(now: now)
        }
        actions += startWaiting(now: now)
        scheduleWake(now: now)
        return actions
    }

    /// Closes the pool: waiting requests fail, running ones may last until `limit`.
    mutating func close(until limit: Instant) -> [Action] {
        switch mode {
        case .closing, .closed: return []
        case .notStarted, .open: break
        }
        mode = .closing(until: limit)
        retryAt = nil
        var actions = refuseAll("the pool is closed")
        for connection in idle { actions.append(.close(connection: connection)) }
        idle = []
        phases = phases.filter { $0.value == .busy }
        wake(by: limit)
        return actions + finishIfEmpty()
    }

    private mutating func start(_ request: Request, on connection: Int, now: Instant) -> Action {
        phases[connection] = .busy
        if busyCount == 0 { lastSign = now }
        busyCount += 1
        if request.isLockWaiter { runningLockWaiters += 1 }
        let payer = request.payer ?? request.owner
        shares.began(payer, now: now)
        runs[connection] = Run(
            owner: payer, isLockWaiter: request.isLockWaiter, start: now, stalledTime: stalledTime(until: now))
        return .start(request: request.id, connection: connection)
    }

    /// Returns the time in which the database has stalled.
    private func stalledTime(until now: Instant) -> Duration {
        guard let lastSign else { return stalledTime }
        return stalledTime + max(.zero, now - lastSign - Self.stallThreshold)
    }

    private mutating func answered(now: Instant) {
        stalledTime = stalledTime(until: now)
        lastSign = now
    }

    /// Records the end of a connection's request. Neither waiting for a lock nor a stall of the database, or of one
    /// connection that never answered, is work, so they are not charged to the owner's budget.
    private mutating func ended(_ connection: Int, isAnswered: Bool, now: Instant) {
        busyCount -= 1
        guard let run = runs.removeValue(forKey: connection) else { return }
        if run.isLockWaiter { runningLockWaiters -= 1 }
        var duration = now - run.start - (stalledTime(until: now) - run.stalledTime)
        if !isAnswered { duration = min(duration, Self.stallThreshold) }
        shares.ended(run.owner, after: run.isLockWaiter ? .zero : duration, now: now)
        if let owner = run.owner, queue.count(of: owner) + lockQueue.count(of: owner) > 0,
            let ready = shares.readyAt(owner, now: now)
        {
            wake(by: ready)
        }
    }

    /// Starts waiting requests on free connections; owners take turns.
    private mutating func startWaiting(now: Instant) -> [Action] {
        var actions: [Action] = []
        while let connection = idle.last, let waiter = next(now: now) {
            idle.removeLast()
            actions.append(start(waiter.request, on: connection, now: now))
        }
        return actions
    }

    private mutating func next(now: Instant) -> Waiter? {
        let shares = self.shares
        if runningLockWaiters < lockWaiterLimit,
            let waiter = lockQueue.popFirst(from: { shares.mayRun($0) }, where: { shares.isWithinShare($0, now: now) })
        {
            return waiter
        }
        return queue.popFirst(from: { shares.mayRun($0) }, where: { shares.isWithinShare($0, now: now) })
    }

    /// Removes requests that have waited too long. One whose owner has used up its share meanwhile waits on.
    private mutating func removeExpired(
        from queue: WritableKeyPath<PoolState, FairQueue<Waiter>>, now: Instant
    ) -> [Waiter] {
        let shares = self.shares
        return self[keyPath: queue].remove { owner, waiter in
            guard waiter.deadline <= now else { return false }
            if !waiter.isHeld, !shares.mayRun(owner, now: now) { waiter.isHeld = true }
            return waiter.deadline <= now
        }
    }

    private mutating func refuseAll(_ reason: String) -> [Action] {
        let all = queue.remove { _, _ in true } + lockQueue.remove { _, _ in true }
        return all.map { refusal($0.request.id, reason) }
    }

    private mutating func shareRefusal(_ request: Request, now: Instant) -> Action {
        shareRefusedCount += 1
        let ready = request.owner.flatMap { shares.readyAt($0, now: now) }
        return .refuseShare(request: request.id, retryAfter: ready.map { $0 - now } ?? .seconds(1))
    }

    private mutating func refusal(_ request: Int, _ reason: String) -> Action {
        refusedCount += 1
        return .refuse(request: request, reason)
    }

    /// Handles a free connection.
    private mutating func offer(_ connection: Int, now: Instant) -> [Action] {
        if case .closing = mode {
            phases[connection] = nil
            return [.close(connection: connection)] + finishIfEmpty()
        }
        phases[connection] = .idle
        idle.append(connection)
        return startWaiting(now: now)
    }

    /// Replaces a lost connection after a wait, since many nodes lose theirs at the same moment.
    private mutating func replace(now: Instant) -> [Action] {
        guard case .open = mode else { return finishIfEmpty() }
        if retryAt == nil {
            let time = now + backoff.next()
            retryAt = time
            wake(by: time)
        }
        return []
    }

    /// Opens missing connections; after a failure only one at a time, to test the database.
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
        runs = [:]
        busyCount = 0
        return actions + finishIfEmpty()
    }

    private mutating func finishIfEmpty() -> [Action] {
        guard case .closing = mode, phases.isEmpty else { return [] }
        mode = .closed
        return [.finish]
    }

    private mutating func wake(by time: Instant) { nextWake = min(time, nextWake ?? time) }

    private mutating func scheduleWake(now: Instant) {
        if let retryAt { wake(by: retryAt) }
        var earliest: Instant?
        for queue in [queue, lockQueue] {
            queue.forEach { earliest = min($1.deadline, earliest ?? $1.deadline) }
            for ready in queue.owners.compactMap({ shares.readyAt($0, now: now) }) {
                earliest = min(ready, earliest ?? ready)
            }
        }
        if let earliest { wake(by: earliest) }
        if case .closing(let limit) = mode { wake(by: limit) }
    }
}
