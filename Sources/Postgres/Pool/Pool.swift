import Logging
import Synchronization
import Threads

/// A fixed number of connections, which many callers have run their requests.
///
/// The pool lives on the same reactor as its connections, so that what it decides and what they tell it needs no lock. A
/// connection that is done starts the next request in the same call, before the caller of the last one is resumed: the
/// server never waits for a change of threads. Each request costs its caller two of those, to the reactor and back.
///
/// Nothing of a run is left on a connection but prepared statements: one that is not idle and outside a transaction after
/// a run is closed. What a run changes for the session (`set`, not `set local`) would stay, so callers do not.
public actor Pool {
    public nonisolated let reactor: Reactor
    public nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    private let url: String
    private let options: PoolOptions
    private var state: PoolState
    private var connections: [Int: Connection] = [:]
    private var requests: [Int: Request] = [:]
    private nonisolated let lastRequest = Atomic(0)
    /// What is still to be done, while something of it is.
    private var actions: [PoolState.Action] = []
    private var isPerforming = false
    private var openings: AsyncStream<Int>.Continuation?
    private var finished: CheckedContinuation<Void, Never>?
    private var timer: PollSet.Watch?
    private var timerDeadline: ContinuousClock.Instant?
    private var retriedCount = 0
    /// An outage was logged, and is not over: the attempts within it are not logged each.
    private var isAway = false

    /// What a caller waits for.
    private struct Request {
        let call: PendingCall
        let caller: CheckedContinuation<Result<[Rows], PostgresError>, Never>
        /// Where it runs; nil while it waits.
        var connection: Int?
        /// It came when its owner's share was in use.
        var isHeld = false
    }

    /// A pool that opens its connections once `run()` runs.
    ///
    /// - Parameters:
    ///   - url: A connection string of libpq: a URL or keywords.
    ///   - reactor: The thread for the pool and its connections; one of its own by default.
    ///   - options: Size, bounds and the way connections are made.
    public init(url: String, options: PoolOptions = PoolOptions(), on reactor: Reactor = Reactor(name: "postgres")) {
        self.url = url
        self.options = options
        self.reactor = reactor
        state = PoolState(size: options.size, backoff: options.backoff, share: options.share)
    }

    deinit {
        if let timer { reactor.remove(timer, thenDrop: Transfer(())) }
    }

    /// What the pool has and has done.
    public var counters: PoolCounters {
        PoolCounters(
            idle: state.idleCount, busy: state.busyCount, opening: state.openingCount, waiting: state.waitingCount,
            opened: state.openedCount, failed: state.failedCount, lost: state.lostCount, refused: state.refusedCount,
            retried: retriedCount)
    }

    /// Keeps the connections, until the task is cancelled; then refuses, lets what runs end within its limit, and closes.
    ///
    /// Runs once in a pool's life.
    public func run() async {
        let (connectionsToOpen, openings) = AsyncStream.makeStream(of: Int.self)
        self.openings = openings
        perform(state.start(now: .now))
        await withDiscardingTaskGroup { group in
            // Ends with the task's cancellation, which reaches attempts that are under way too.
            for await connection in connectionsToOpen { group.addTask { await self.open(connection) } }
        }
        await withSuspension { caller in
            finished = caller
            perform(state.close(until: .now + options.closeLimit))
            return .suspend
        }
        if let timer { reactor.remove(timer) }
        timer = nil
        timerDeadline = nil
    }

    private func open(_ id: Int) async {
        do throws(PostgresError) {
            let connection = try await Connection.open(url, on: reactor, options: options.connection)
            connections[id] = connection
            if isAway {
                isAway = false
                options.connection.logger.notice("connected to PostgreSQL again")
            }
            await connection.onLoss { [weak self] error in
                self?.assumeIsolated { $0.lose(id, error) }
            }
            perform(state.opened(connection: id, now: .now))
        } catch {
            if case .cancelled = error {
            } else if !isAway {
                isAway = true
                options.connection.logger.warning(
                    "no connection to PostgreSQL; trying again", metadata: ["reason": "\(error)"])
            }
            perform(state.openFailed(connection: id, "\(error)", now: .now))
        }
    }

    private func lose(_ id: Int, _ error: PostgresError) {
        options.connection.logger.info("a connection to PostgreSQL ended", metadata: ["reason": "\(error)"])
        connections[id] = nil
        perform(state.lost(connection: id, now: .now))
    }

    /// Does what the state has decided. What that leads to at once, as where a request is refused by its connection, comes
    /// after the rest.
    private func perform(_ decided: [PoolState.Action]) {
        actions += decided
        guard !isPerforming else { return }
        isPerforming = true
        var next = 0
        while next < actions.count {
            perform(actions[next])
            next += 1
        }
        actions.removeAll(keepingCapacity: true)
        isPerforming = false
        if let nextWake = state.nextWake, nextWake < timerDeadline ?? nextWake + .seconds(1) { wake(by: nextWake) }
    }

    private func perform(_ action: PoolState.Action) {
        switch action {
        case .start(let request, let connection): start(request, on: connection)
        case .refuse(let request, let reason): reply(to: request, .failure(.unavailable(reason)))
        case .refuseShare(let request, let wait): reply(to: request, .failure(.shareExceeded(retryAfter: wait)))
        case .open(let connection): openings?.yield(connection)
        case .close(let id):
            // On the connection's executor already, which is ours.
            connections.removeValue(forKey: id)?.assumeIsolated { $0.close() }
        case .finish:
            finished?.resume()
            finished = nil
        }
    }

    private func wake(by time: ContinuousClock.Instant) {
        let timer =
            timer
            ?? reactor.watch(nil) { [weak self] _ in
                // The handler runs on the reactor's thread, which is this actor's.
                self?.assumeIsolated { pool in
                    pool.timerDeadline = nil
                    pool.perform(pool.state.woke(now: .now))
                }
            }
        self.timer = timer
        timerDeadline = time
        reactor.setDeadline(time, of: timer)
    }

    /// Runs the calls on a free connection in one pipeline, as one transaction, and gives the rows of each.
    ///
    /// What failed without leaving anything behind (a serialization failure, a deadlock, a connection that was lost before
    /// anything was sent, a plan gone stale) is tried again, a few times.
    /// - Parameters:
    ///   - calls: What is executed, in order.
    ///   - owner: For whom it is, and whose share of the pool it takes; nil for the service's own work.
    ///   - isLockWaiter: It waits for a lock for long: such runs have half of the connections at most.
    ///   - deadline: How long the caller waits for all of it; nil is for ever, but for the wait for a connection.
    ///   - succeeded: Called on the pool's thread when it has, before the caller, on whatever thread that is, has the rows.
    /// - Throws: `unavailable`, `shareExceeded`, and what `Connection.run` throws.
    public nonisolated func run(
        _ calls: [Call], of owner: String? = nil, isLockWaiter: Bool = false, deadline: Duration? = nil,
        succeeded: (@Sendable () -> Void)? = nil
    ) async throws(PostgresError) -> [Rows] {
        if calls.isEmpty { return [] }
        let limit = deadline.map { ContinuousClock.now + $0 }
        var backoff = Backoff(base: .milliseconds(5), limit: .milliseconds(100))
        while true {
            do {
                let call = PendingCall(
                    lastRequest.add(1, ordering: .relaxed).newValue, calls, of: owner, isLockWaiter: isLockWaiter,
                    until: limit, succeeded: succeeded)
                return try await attempt(call)
            } catch {
                guard error.isTransient, backoff.attempts + 1 < options.maximumAttempts else { throw error }
            }
            await noteRetry()
            do { try await Task.sleep(for: backoff.next()) } catch { throw .cancelled }
        }
    }

    private func noteRetry() { retriedCount += 1 }

    private nonisolated func attempt(_ call: PendingCall) async throws(PostgresError) -> [Rows] {
        let answer: Result<[Rows], PostgresError> = await withTaskCancellationHandler {
            await withSuspension { caller in
                let take = { @Sendable in self.assumeIsolated { $0.take(Request(call: call, caller: caller)) } }
                // Who is on the pool's thread waits for nobody else there.
                if reactor.isIsolatingCurrentContext() == true { take() } else { reactor.submit(take) }
                return .suspend
            }
        } onCancel: {
            call.isCancelled.store(true, ordering: .releasing)
            reactor.submit { self.assumeIsolated { $0.cancel(call.id) } }
        }
        return try answer.get()
    }

    private func take(_ request: Request) {
        let call = request.call
        // A cancellation that came before this has found nothing.
        if call.isCancelled.load(ordering: .acquiring) { return request.caller.resume(returning: .failure(.cancelled)) }
        let now = ContinuousClock.now
        var request = request
        request.isHeld = state.isHeld(call.owner, now: now)
        requests[call.id] = request
        let waitLimit = call.asked + options.waitLimit
        let until = min(waitLimit, call.deadline ?? waitLimit)
        // The wait for a lock has its time: half of the connections may be taken for as long.
        let lockUntil = call.isLockWaiter ? call.deadline : nil
        perform(
            state.request(
                .init(
                    id: call.id, owner: call.owner, isLockWaiter: call.isLockWaiter, until: lockUntil ?? until,
                    shareUntil: call.deadline),
                now: now))
    }

    private func start(_ id: Int, on connection: Int) {
        guard let request = requests[id] else { return }
        let call = request.call
        let now = ContinuousClock.now
        noteWait(of: request)
        requests[id]?.connection = connection
        guard let link = connections[connection] else {
            return finish(id, on: connection, .failure(.connectionLost(sent: false, "the connection has ended")))
        }
        if let deadline = call.deadline, deadline <= now {
            return finish(id, on: connection, .failure(.deadlineExceeded))
        }
        // On the connection's executor already, which is ours, as its reply will be.
        let pipeline = PipelineRequest(id: id, work: .pipeline(call.calls), deadline: call.deadline) { answer in
            self.assumeIsolated { $0.finish(id, on: connection, answer) }
        }
        link.assumeIsolated { $0.submit(pipeline) }
    }

    private func noteWait(of request: Request) {
        // A wait for a lock or for the owner's share says nothing of the pool.
        if request.isHeld {
            options.onShareWait?(.now - request.call.asked, false)
        } else if !request.call.isLockWaiter {
            options.onWait?(.now - request.call.asked)
        }
    }

    /// Has the connection go on with the next request, then answers.
    private func finish(_ id: Int, on connection: Int, _ answer: Result<[Rows], PostgresError>) {
        let isReusable = connections[connection]?.assumeIsolated { $0.isReusable } ?? false
        let isStale = isStale(connection)
        perform(state.finished(connection: connection, reusable: isReusable && !isStale, now: .now))
        if isStale || answer.isRefusedWrite { discardStaleConnections() }
        let request = requests.removeValue(forKey: id)
        if case .success = answer { request?.call.succeeded?() }
        request?.caller.resume(returning: answer)
    }

    /// True if the connection takes no writes, though the pool is for writes, and a new one may: it was opened more than a
    /// second ago.
    private func isStale(_ id: Int) -> Bool {
        guard options.isForWrites, let connection = connections[id] else { return false }
        return connection.assumeIsolated { $0.isReadOnly } && connection.openedAt < .now - .seconds(1)
    }

    private func discardStaleConnections() {
        perform(state.discardIdle(now: .now) { isStale($0) })
    }

    /// Answers a request that is not started.
    private func reply(to id: Int, _ answer: Result<[Rows], PostgresError>) {
        guard let request = requests.removeValue(forKey: id) else { return }
        if case .failure(.shareExceeded) = answer {
            options.onShareWait?(.now - request.call.asked, true)
        } else {
            noteWait(of: request)
        }
        request.caller.resume(returning: answer)
    }

    private func cancel(_ id: Int) {
        guard let request = requests[id] else { return }
        if let connection = request.connection {
            connections[connection]?.assumeIsolated { $0.abandon(id, .cancelled) }
        } else if state.cancel(id) {
            reply(to: id, .failure(.cancelled))
        }
    }
}

extension Result where Success == [Rows], Failure == PostgresError {
    /// True if the server refused to write.
    fileprivate var isRefusedWrite: Bool {
        if case .failure(.server(let error)) = self { error.sqlState == .readOnlyTransaction } else { false }
    }
}
