import Logging
import Threads

/// A fixed number of connections, shared by many callers for one run each.
///
/// The pool lives on the same reactor as its connections, so that what it decides and what they tell it needs no lock.
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
    private var waiters: [Int: CheckedContinuation<Result<Int, PostgresError>, Never>] = [:]
    private var nextWaiter = 0
    private var openings: AsyncStream<Int>.Continuation?
    private var finished: CheckedContinuation<Void, Never>?
    private var timer: PollSet.Watch?
    private var timerDeadline: ContinuousClock.Instant?
    private var retriedCount = 0
    /// An outage was logged, and is not over: the attempts within it are not logged each.
    private var isAway = false

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
        state = PoolState(size: options.size, backoff: options.backoff)
    }

    deinit {
        if let timer { reactor.remove(timer, thenDrop: Parcel(())) }
    }

    /// What the pool has and has done.
    public var counters: PoolCounters {
        PoolCounters(
            idle: state.idleCount, leased: state.leased, opening: state.openingCount, waiting: state.waitingCount,
            opened: state.openedCount, failed: state.failedCount, lost: state.lostCount, refused: state.refusedCount,
            retried: retriedCount)
    }

    // MARK: Life

    /// Keeps the connections, until the task is cancelled; then refuses, lets leases end within their limit, and closes.
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
        await suspended { caller in
            finished = caller
            perform(state.close(until: .now + options.closeLimit))
            return .kept
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

    private func perform(_ actions: [PoolState.Action]) {
        for action in actions {
            switch action {
            case .lease(let connection, let waiter):
                waiters.removeValue(forKey: waiter)?.resume(returning: .success(connection))
            case .refuse(let waiter, let reason):
                waiters.removeValue(forKey: waiter)?.resume(returning: .failure(.unavailable(reason)))
            case .open(let connection): openings?.yield(connection)
            case .close(let id):
                // On the connection's executor already, which is ours.
                connections.removeValue(forKey: id)?.assumeIsolated { $0.close() }
            case .finish:
                finished?.resume()
                finished = nil
            }
        }
        if let nextWake = state.nextWake, nextWake < timerDeadline ?? nextWake + .seconds(1) { wake(by: nextWake) }
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

    // MARK: Requests

    /// Runs the calls on a free connection in one pipeline, as one transaction, and gives the rows of each.
    ///
    /// What failed without leaving anything behind (a serialization failure, a deadlock, a connection that was lost before
    /// anything was sent, a plan gone stale) is tried again, a few times.
    /// - Parameters:
    ///   - calls: What is executed, in order.
    ///   - deadline: How long the caller waits for all of it; nil is for ever, but for the wait for a connection.
    /// - Throws: `unavailable`, and what `Connection.run` throws.
    public func run(_ calls: [Call], deadline: Duration? = nil) async throws(PostgresError) -> [Rows] {
        let limit = deadline.map { ContinuousClock.now + $0 }
        var backoff = Backoff(base: .milliseconds(5), limit: .milliseconds(100))
        while true {
            do {
                return try await attempt(calls, until: limit)
            } catch {
                guard error.isTransient, backoff.attempts + 1 < options.maximumAttempts else { throw error }
            }
            retriedCount += 1
            do { try await Task.sleep(for: backoff.next()) } catch { throw .cancelled }
        }
    }

    private func attempt(
        _ calls: [Call], until limit: ContinuousClock.Instant?
    ) async throws(PostgresError) -> [Rows] {
        let id = try await lease(until: limit)
        guard let connection = connections[id] else {
            // Lost between the lease and this job.
            throw .connectionLost(sent: false, "the connection ended before the run")
        }
        let answer: Result<[Rows], PostgresError>
        do throws(PostgresError) {
            answer = .success(try await connection.run(calls, until: limit))
        } catch {
            answer = .failure(error)
        }
        takeBack(id, connection)
        return try answer.get()
    }

    private func takeBack(_ id: Int, _ connection: Connection) {
        let isReusable = connection.assumeIsolated { $0.isReusable }
        perform(state.returned(connection: id, reusable: isReusable, now: .now))
    }

    private func lease(until limit: ContinuousClock.Instant?) async throws(PostgresError) -> Int {
        let id = nextWaiter
        nextWaiter += 1
        let now = ContinuousClock.now
        let deadline = min(now + options.waitLimit, limit ?? now + options.waitLimit)
        let answer: Result<Int, PostgresError> = await withTaskCancellationHandler {
            await suspended { caller in
                if Task.isCancelled { return .over(.failure(.cancelled)) }
                waiters[id] = caller
                perform(state.request(waiter: id, until: deadline, now: now))
                return .kept
            }
        } onCancel: {
            // One that comes before the wait has begun is seen by the wait itself.
            reactor.submit { self.assumeIsolated { $0.stopWaiting(id) } }
        }
        options.onWait?(.now - now)
        return try answer.get()
    }

    private func stopWaiting(_ id: Int) {
        _ = state.cancel(waiter: id)
        waiters.removeValue(forKey: id)?.resume(returning: .failure(.cancelled))
    }
}
