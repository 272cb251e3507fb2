import Concurrency
import Foundations
import Logging
import Synchronization

/// A fixed number of connections shared by many callers.
///
/// The pool lives on the same reactor as its connections, so they need no locks. A connection that becomes free starts
/// the next request in the same call, before the last caller resumes: the server never waits for a thread change. Each
/// request costs its caller two thread changes, to the reactor and back.
///
/// A run leaves nothing on a connection but prepared statements: a connection that is not idle and outside a
/// transaction afterwards is closed. Session changes (`set`, not `set local`) would persist, so callers must not make
/// them.
package actor Pool {
    package nonisolated let reactor: Reactor
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    private let url: String
    private let options: PoolOptions
    private var state: PoolState
    private var connections: [Int: Connection] = [:]
    private var requests: [Int: Request] = [:]
    private nonisolated let lastRequest = Atomic(0)
    /// Actions that remain to be performed.
    private var actions: [PoolState.Action] = []
    private var isPerforming = false
    private var openings: AsyncStream<Int>.Continuation?
    private var finished: CheckedContinuation<Void, Never>?
    private var timer: PollSet.Watch?
    private var timerDeadline: ContinuousClock.Instant?
    private var retriedCount = 0
    /// True during an outage that was logged, so that its attempts are not logged individually.
    private var isUnreachable = false

    /// A request of a caller.
    private struct Request {
        let call: PendingCall
        let caller: CheckedContinuation<Result<[Rows], PostgresError>, Never>
        /// The connection that runs it, or nil while it waits.
        var connection: Int?
        /// True if the owner's share was used up on arrival.
        var isHeld = false
    }

    /// Creates a pool that opens its connections once `run()` runs.
    ///
    /// - Parameters:
    ///   - url: a libpq connection string: a URL or keywords.
    ///   - reactor: the thread of the pool and its connections; by default its own.
    ///   - options: the size, limits and connection options.
    package init(url: String, options: PoolOptions = PoolOptions(), on reactor: Reactor = Reactor(name: "postgres")) {
        self.url = url
        self.options = options
        self.reactor = reactor
        state = PoolState(size: options.size, backoff: options.backoff, share: options.share)
    }

    deinit {
        if let timer { reactor.remove(timer, thenDrop: Transfer(())) }
    }

    /// The current counters.
    package var counters: PoolCounters {
        PoolCounters(
            idle: state.idleCount, busy: state.busyCount, opening: state.openingCount, waiting: state.waitingCount,
            opened: state.openedCount, failed: state.failedCount, lost: state.lostCount, refused: state.refusedCount,
            retried: retriedCount)
    }

    /// Maintains the connections until the task is cancelled, then rejects new requests, lets running ones finish
    /// within a limit, and closes. Call it once.
    package func run() async {
        let (connectionsToOpen, openings) = AsyncStream.makeStream(of: Int.self)
        self.openings = openings
        perform(state.start(now: .now))
        await withDiscardingTaskGroup { group in
            // Ends when the task is cancelled, which also cancels connection attempts.
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
            if isUnreachable {
                isUnreachable = false
                options.connection.logger.notice("connected to PostgreSQL again")
            }
            await connection.onLoss { [weak self] error in
                self?.assumeIsolated { $0.connectionLost(id, error) }
            }
            perform(state.opened(connection: id, now: .now))
        } catch {
            if case .cancelled = error {
            } else if !isUnreachable {
                isUnreachable = true
                options.connection.logger.warning(
                    "no connection to PostgreSQL; trying again", metadata: ["reason": "\(error)"])
            }
            perform(state.openFailed(connection: id, "\(error)", now: .now))
        }
    }

    private func connectionLost(_ id: Int, _ error: PostgresError) {
        options.connection.logger.info("a connection to PostgreSQL ended", metadata: ["reason": "\(error)"])
        connections[id] = nil
        perform(state.lost(connection: id, now: .now))
    }

    /// Performs the actions that the state has decided. Actions that result from them come last.
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
                    pool.perform(pool.state.timerFired(now: .now))
                }
            }
        self.timer = timer
        timerDeadline = time
        reactor.setDeadline(time, of: timer)
    }

    /// Runs the calls on a free connection in one pipeline, as one transaction, and returns the rows of each.
    ///
    /// A failure that left no effect (a serialization failure, a deadlock, a connection lost before sending, a stale
    /// plan) is retried a few times.
    ///
    /// - Parameters:
    ///   - calls: the statements in order.
    ///   - owner: the user whose share of the pool the request uses; nil for the service's own work.
    ///   - isAdmitted: true after ``awaitShare(of:deadline:)``: the request is charged to the share and does not wait
    ///     for it.
    ///   - isLockWaiter: true if the request may wait long for a lock. Such requests use at most half of the
    ///     connections.
    ///   - deadline: the total time that the caller waits; nil for no limit except the wait for a connection.
    ///   - succeeded: called on the pool's thread on success, before the caller has the rows.
    /// - Throws: `unavailable`, `shareExceeded`, and the errors of `Connection.run`.
    package nonisolated func run(
        _ calls: [Call], of owner: RequestOwner? = nil, isAdmitted: Bool = false, isLockWaiter: Bool = false,
        deadline: Duration? = nil, succeeded: (@Sendable () -> Void)? = nil
    ) async throws(PostgresError) -> [Rows] {
        if calls.isEmpty { return [] }
        let limit = deadline.map { ContinuousClock.now + $0 }
        var backoff = Backoff(base: .milliseconds(5), limit: .milliseconds(100))
        while true {
            do {
                let call = PendingCall(
                    lastRequest.add(1, ordering: .relaxed).newValue, calls, of: owner, isAdmitted: isAdmitted,
                    isLockWaiter: isLockWaiter, until: limit, succeeded: succeeded)
                return try await attempt(call)
            } catch {
                guard error.isTransient, backoff.attempts + 1 < options.maximumAttempts else { throw error }
            }
            await recordRetry()
            do { try await Task.sleep(for: backoff.next()) } catch { throw .cancelled }
        }
    }

    /// Returns when a request of the owner would start: it has waited for the owner's earlier requests and budget.
    ///
    /// - Throws: `unavailable` and `shareExceeded`.
    package nonisolated func awaitShare(of owner: RequestOwner, deadline: Duration) async throws(PostgresError) {
        _ = try await attempt(
            PendingCall(
                lastRequest.add(1, ordering: .relaxed).newValue, [], of: owner, isLockWaiter: false,
                until: .now + deadline))
    }

    private func recordRetry() { retriedCount += 1 }

    private nonisolated func attempt(_ call: PendingCall) async throws(PostgresError) -> [Rows] {
        let result: Result<[Rows], PostgresError> = await withTaskCancellationHandler {
            await withSuspension { caller in
                let take = { @Sendable in self.assumeIsolated { $0.take(Request(call: call, caller: caller)) } }
                // A caller on the pool's thread needs no thread change.
                if reactor.isIsolatingCurrentContext() == true { take() } else { reactor.submit(take) }
                return .suspend
            }
        } onCancel: {
            call.isCancelled.store(true, ordering: .releasing)
            reactor.submit { self.assumeIsolated { $0.cancel(call.id) } }
        }
        return try result.get()
    }

    private func take(_ request: Request) {
        let call = request.call
        // An earlier cancellation has found no request.
        if call.isCancelled.load(ordering: .acquiring) { return request.caller.resume(returning: .failure(.cancelled)) }
        let now = ContinuousClock.now
        var request = request
        let owner = call.isAdmitted ? nil : call.owner
        request.isHeld = state.isHeld(owner, now: now)
        requests[call.id] = request
        let waitLimit = call.requestedAt + options.waitLimit
        let until = min(waitLimit, call.deadline ?? waitLimit)
        // The wait for a lock has its own limit, since half of the connections may be occupied as long.
        let lockUntil = call.isLockWaiter ? call.deadline : nil
        perform(
            state.request(
                .init(
                    id: call.id, owner: owner, payer: call.owner, isLockWaiter: call.isLockWaiter,
                    until: lockUntil ?? until, shareUntil: call.deadline),
                now: now))
    }

    private func start(_ id: Int, on connection: Int) {
        guard let request = requests[id] else { return }
        let call = request.call
        let now = ContinuousClock.now
        recordWait(of: request)
        requests[id]?.connection = connection
        guard let link = connections[connection] else {
            return finish(id, on: connection, .failure(.connectionLost(sent: false, "the connection has ended")))
        }
        if let deadline = call.deadline, deadline <= now {
            return finish(id, on: connection, .failure(.deadlineExceeded))
        }
        if call.calls.isEmpty { return finish(id, on: connection, .success([])) }
        // Already on the connection's executor, which is ours, as its reply will be.
        let pipeline = PipelineRequest(id: id, work: .pipeline(call.calls), deadline: call.deadline) { result in
            self.assumeIsolated { $0.finish(id, on: connection, result) }
        }
        link.assumeIsolated { $0.submit(pipeline) }
    }

    private func recordWait(of request: Request) {
        // A wait for a lock or the owner's share says nothing about the pool.
        if request.isHeld {
            options.onShareWait?(.now - request.call.requestedAt, false)
        } else if !request.call.isLockWaiter {
            options.onWait?(.now - request.call.requestedAt)
        }
    }

    /// Starts the connection's next request, then resumes the caller.
    private func finish(_ id: Int, on connection: Int, _ result: Result<[Rows], PostgresError>) {
        let isReusable = connections[connection]?.assumeIsolated { $0.isReusable } ?? false
        let isStale = isStale(connection)
        perform(state.finished(connection: connection, reusable: isReusable && !isStale, now: .now))
        if isStale || result.isRefusedWrite { discardStaleConnections() }
        let request = requests.removeValue(forKey: id)
        if case .success = result { request?.call.succeeded?() }
        request?.caller.resume(returning: result)
    }

    /// Returns true if the connection is read-only although the pool is for writes, and was opened more than a second
    /// ago, so that a new one may be writable.
    private func isStale(_ id: Int) -> Bool {
        guard options.isForWrites, let connection = connections[id] else { return false }
        return connection.assumeIsolated { $0.isReadOnly } && connection.openedAt < .now - .seconds(1)
    }

    private func discardStaleConnections() {
        perform(state.discardIdle(now: .now) { isStale($0) })
    }

    /// Fails a request that has not started.
    private func reply(to id: Int, _ result: Result<[Rows], PostgresError>) {
        guard let request = requests.removeValue(forKey: id) else { return }
        if case .failure(.shareExceeded) = result {
            options.onShareWait?(.now - request.call.requestedAt, true)
        } else {
            recordWait(of: request)
        }
        request.caller.resume(returning: result)
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
    /// True if the server refused a write.
    fileprivate var isRefusedWrite: Bool {
        if case .failure(.server(let error)) = self { error.sqlState == .readOnlyTransaction } else { false }
    }
}
