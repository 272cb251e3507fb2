internal import Logging
internal import Metrics
internal import NIOCore
internal import Postgres
internal import Synchronization

/// How a change reaches clients: on a ring of the doorbell it looks at what the tables show now and did not show before,
/// and distributes that to the live sessions of this node.
///
/// A ring says only that something may have changed. It comes from this node's own writes, from NOTIFY (`psql`, other
/// programs, other nodes), and once a second from the sweep, which finds what no bell announced.
///
/// It lives on the thread of its connections, and so passes on what a look brings without changing it.
actor Feed {
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    typealias SubscriptionID = Fanout.SubscriptionID

    private let settings: Settings
    nonisolated let reactor: Reactor
    private let logger: Logger
    private let preamble: Preamble

    private let notifier: ChangeNotifier

    /// Rings that ask for a look, and what has it look: where there is a standby, the primary is asked between them.
    private let wakeUps: WakeSignal
    private var due: WakeSignal { standby?.due ?? wakeUps }

    /// Nil where there is no standby to look at.
    private let standby: StandbyWatch?

    /// Where it looks, for those who read beside it.
    nonisolated let readPosition = Mutex(FeedReadPosition())

    /// Whether the ring that is due comes after this node's own look: while there is a connection to look over.
    private nonisolated let notifiesAfterPoll = Atomic(false)

    /// To the event loops.
    private let dispatcher: PushDispatcher

    private nonisolated let pendingWrites = PendingWriteTracker()

    private var fanout = Fanout()
    private var sinks: [SubscriptionID: any ClientSink] = [:]
    private var position: Position?

    /// How often the look that is due has failed, and how often it lost its connection.
    private var pollFailureCount = 0
    private var connectionLossCount = 0

    /// Told which users were deleted.
    private let onDeletion: @Sendable ([ID]) async -> Void

    /// When the last look that came to its end began; nil without a connection.
    private var seen: ContinuousClock.Instant?

    let metrics: FeedMetrics

    init(
        settings: Settings, typingSecret: String, reactor: Reactor, logger: Logger,
        metrics: any MetricsFactory = MetricsSystem.factory,
        onDeletion: @escaping @Sendable ([ID]) async -> Void
    ) {
        self.onDeletion = onDeletion
        self.settings = settings
        self.reactor = reactor
        self.logger = logger
        preamble = Preamble(limits: settings.limits)
        wakeUps = WakeSignal(on: reactor)
        dispatcher = PushDispatcher(on: reactor)
        self.metrics = FeedMetrics(factory: metrics)
        notifier = ChangeNotifier(
            settings: settings, typingSecret: typingSecret, reactor: reactor, logger: logger, metrics: self.metrics)
        standby = settings.standbyURL.map {
            StandbyWatch(url: $0, settings: settings, reactor: reactor, logger: logger)
        }
    }

    /// This node has committed a change: it is looked at here, and then the other nodes are rung.
    ///
    /// The bell is a commit that nobody waits for until it is on disk. A look that saw it could not tell what it found
    /// before the bell is there too; so the look comes first, as long as nothing holds it up.
    nonisolated func changed() {
        notifier.markPending()
        wakeUps.signal()
        if !notifiesAfterPoll.load(ordering: .sequentiallyConsistent) { notifier.wakeIfPending() }
    }

    /// This node writes something, until ``hasWritten()``.
    nonisolated func writeWillBegin() { pendingWrites.begin() }

    /// That is over: committed, or perhaps.
    nonisolated func writeDidEnd() {
        pendingWrites.end()
        changed()
    }

    /// A look is wanted.
    nonisolated func requestPoll() { wakeUps.signal() }

    /// Tells the conversation's other members who are live, on every node.
    func publish(_ notice: TypingNotice) async {
        deliverLocally(notice)
        await notifier.send(notice)
    }

    /// Runs until it is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.runPollLoop() }
            group.addTask { await self.runSweepLoop() }
            group.addTask {
                // On the thread of both.
                await self.notifier.run(changed: { self.wakeUps.signal() }) { notice in
                    self.assumeIsolated { $0.deliverLocally(notice) }
                }
            }
            if let standby { group.addTask { await standby.run(self.wakeUps) } }
        }
    }
}

extension Feed {
    /// A session is about to read its page of `sync.open`; from now on nothing is lost to it.
    ///
    /// - Returns: also where the feed is, which the page must have reached.
    /// - Throws: `unavailable` where the feed has not seen the database yet, and does not see it in the next moments.
    func subscribe(
        user: ID, sink: any ClientSink, messagesPerConversation: Int
    ) async throws(ProtocolError) -> (SubscriptionID, Position) {
        // A node takes lines from its first moment on, which may be one before the feed's first look.
        let limit = ContinuousClock.now + settings.firstPollTimeout
        while position == nil, .now < limit, (try? await Task.sleep(for: .milliseconds(20))) != nil {}
        guard let position else { throw .unavailable }
        let id = fanout.subscribe(user: user, messagesPerConversation: messagesPerConversation)
        sinks[id] = sink
        return (id, position)
    }

    /// The page is on its way to the client: pushes go on from where it ends.
    func activate(_ id: SubscriptionID, from start: SyncPage.Start) {
        guard let sink = sinks[id] else { return }
        sink.startPushes(cursor: Cursor(epoch: start.epoch, place: .at(start.snapshot)).text)
        if let missed = fanout.activate(id, from: start) {
            deliver(missed)
        } else {
            requireResync(id)
        }
    }

    /// There is more for it than it is told: it asks for that by `sync.open`.
    private func requireResync(_ id: SubscriptionID) {
        sinks.removeValue(forKey: id)?.fallBehind()
    }

    func unsubscribe(_ id: SubscriptionID) {
        fanout.unsubscribe(id)
        sinks[id] = nil
    }

    private func deliverLocally(_ notice: TypingNotice) {
        let receivers = fanout.others(in: notice.conversation, than: notice.user)
        if !receivers.isEmpty { deliver([Fanout.Delivery(subscribers: Array(receivers), push: notice.push)]) }
    }

    private func deliver(_ deliveries: [Fanout.Delivery]) { dispatcher.deliver(deliveries, to: sinks) }
}

extension Feed {
    private func runPollLoop() async {
        var backoff = Backoff(base: .milliseconds(50), limit: .seconds(2))
        while !Task.isCancelled {
            let state = FeedConnectionState(isAtStandby: await standby?.isUsable == true)
            readPosition.withLock { $0.beginMove() }
            do {
                let url = (state.isAtStandby ? settings.standbyURL : nil) ?? settings.url
                try await Connection.with(url, on: reactor, options: .logging(to: logger)) { connection in
                    if state.isAtStandby { try await StandbyWatch.checkLogin(over: connection, settings.limits) }
                    // What a standby shows is on disk: nothing holds up a look there.
                    notifiesAfterPoll.store(!state.isAtStandby, ordering: .sequentiallyConsistent)
                    defer {
                        seen = nil
                        notifiesAfterPoll.store(false, ordering: .sequentiallyConsistent)
                        notifier.wakeIfPending()
                    }
                    try await pollRepeatedly(over: connection, state, &backoff)
                }
            } catch {
                if Task.isCancelled { return }
                if state.isAtStandby, let standby {
                    await standby.recordFailure(error)
                    continue
                }
                // Once an outage; that it is over is said by "live".
                if backoff.attempts == 0 {
                    logger.warning("the feed has no connection and tries again", metadata: ["error": "\(error)"])
                }
                try? await Task.sleep(for: backoff.next())
            }
        }
    }

    /// How long ago the tables were seen as they were then; nil without a connection.
    var lag: Duration? { seen.map { .now - $0 } }

    /// Looks at each ring. The first look goes on from the last one of the connection before: nothing is missed.
    ///
    /// Returns where there is a better place to look.
    private func pollRepeatedly(
        over connection: Connection, _ state: FeedConnectionState, _ backoff: inout Backoff
    ) async throws {
        var state = state
        var isLive = false
        wakeUps.signal()
        var next = ContinuousClock.now
        while true {
            try await pollAndRecord(over: connection, &state)
            if state.hasCaughtUp, !isLive {
                isLive = true
                metrics.setSource(isStandby: state.isAtStandby)
                logger.info("the feed is live", metadata: ["at": state.isAtStandby ? "standby" : "primary"])
                backoff.reset()
            }
            if !state.isAtStandby, await standby?.isUsable == true { return }
            try await due.next(notBefore: next)
            // While event loops are busy writing what the last look brought, what commits shares the next: one write a
            // session for all of it.
            if dispatcher.hasUnwrittenPushes {
                notifier.wakeIfPending()
                try await dispatcher.waitUntilWritten()
            }
            // What this node is writing shares it too, where the last one took long to give out: of eight changes that
            // come at once the first to commit would else be given out alone, and the others after it.
            if !state.isAtStandby {
                let wait = min(dispatcher.lastDispatchDuration / 2, settings.maxWriteWait)
                try await pendingWrites.wait(until: .now + wait, on: due)
            }
            next = .now + settings.pace
        }
    }

    private func pollAndRecord(over connection: Connection, _ state: inout FeedConnectionState) async throws {
        let start = ContinuousClock.now
        do {
            try await poll(over: connection, &state)
            pollFailureCount = 0
            connectionLossCount = 0
        } catch {
            // Ended by others or by the network; one that we give up at a deadline is a failure of the look.
            if case PostgresError.connectionLost = error { connectionLossCount += 1 } else { pollFailureCount += 1 }
            throw error
        }
        guard state.hasCaughtUp else { return }
        let seen = state.reached ?? start
        self.seen = seen
        metrics.recordPoll(from: start, seen: seen)
    }

    private func poll(over connection: Connection, _ state: inout FeedConnectionState) async throws {
        // What fails again and again is not asked for for ever: with no position it is only looked where we are.
        let isAbandoned =
            pollFailureCount >= settings.maxPollFailures || connectionLossCount >= settings.maxConnectionLosses
        var calls = [preamble.call(for: .feed)]
        if state.isAtStandby {
            calls.append(StandbyWatch.noteEnded(since: state.hasCaughtUp ? position?.snapshot : nil, state.started))
        }
        calls.append(Call(PollResult.statement, [isAbandoned ? nil : position?.snapshot.text]))
        let rows = try await connection.run(calls, deadline: settings.limits.deadline)
        let result = try PollResult(rows[calls.count - 1])
        notifier.wakeIfPending()
        if state.isAtStandby, let standby {
            let isAwaited = try state.note(
                StandbyWatch.Moment(rows[1]), of: result.epoch, newest: await standby.mark,
                longestLag: settings.longestLag)
            // It is looked again until it is there.
            if isAwaited { due.signal() }
        }
        // Another server may see less than the one before did, for a moment.
        let isBehind =
            state.isAtStandby && state.reached == nil
            || position.map { before in
                result.epoch == before.epoch && !result.snapshot.covers(before.snapshot)
            } ?? false
        if isBehind {
            if state.isStuck(after: settings.longestLag) {
                logger.warning(
                    """
                    nothing is pushed: a commit that the standby has shown is not over at the primary, as one that \
                    waits for a synchronous standby; clients who connect are told that the service is unavailable
                    """)
            }
            return due.signal()
        }
        try await publish(result, isAbandoned, over: connection)
        state.hasCaughtUp = true
        readPosition.withLock {
            $0.endMove()
            if let reached = state.reached, let started = state.started {
                $0.setStandby(.init(epoch: result.epoch, snapshot: result.snapshot, started: started, reached: reached))
            }
        }
    }

    private func publish(_ result: PollResult, _ isAbandoned: Bool, over connection: Connection) async throws {
        guard result.snapshot != position?.snapshot || result.epoch != position?.epoch else { return }
        if let end = result.logEnd { try await awaitDurable(upTo: end, over: connection) }
        let now = Position(epoch: result.epoch, snapshot: result.snapshot)
        guard result.epoch == position?.epoch else { return begin(now) }
        let summary = try result.summary()
        var affectedUsers: ChangeBatch.AffectedUsers =
            isAbandoned ? .everybody : summary.mustResync.isEmpty ? .nobody : .users(summary.mustResync)
        if summary.exceedsLimit {
            affectedUsers = .users(try await usersWithChanges(over: connection).union(summary.mustResync))
        }
        // Of too much nothing is told.
        let changes = summary.exceedsLimit ? [] : summary.changes
        metrics.recordBatchSize(changes.count)
        position = now
        distribute(
            ChangeBatch(snapshot: now.snapshot, cursor: now.cursor, changes: changes, affectedUsers: affectedUsers))
        if !summary.deletedUsers.isEmpty { await onDeletion(summary.deletedUsers) }
    }

    private func distribute(_ batch: ChangeBatch) {
        let behind = fanout.dropAffected(by: batch)
        if case .nobody = batch.affectedUsers {
        } else {
            logger.notice(
                "more has changed than is told: sessions fetch it by sync.open",
                metadata: ["sessions": "\(behind.count)"])
        }
        for id in behind { requireResync(id) }
        deliver(fanout.distribute(batch))
    }

    /// Which of this node's users there is news for, asked of a few at a time.
    private func usersWithChanges(over connection: Connection) async throws -> Set<ID> {
        let limit = ContinuousClock.now + settings.affectedUsersTimeout
        var unchecked = Array(fanout.users)[...]
        var affected: Set<ID> = []
        while !unchecked.isEmpty, .now < limit {
            let users = unchecked.prefix(settings.usersAtOnce)
            let rows = try await connection.run(
                [
                    preamble.call(for: .feed),
                    Call(
                        Self.affectedUsers,
                        [position?.snapshot.text, "{\(users.map(\.description).joined(separator: ","))}"]),
                ], deadline: settings.limits.deadline)[1]
            affected.formUnion((0..<rows.count).compactMap { rows.id($0, 0) })
            unchecked = unchecked.dropFirst(users.count)
        }
        return affected.union(unchecked)
    }

    /// Returns once the log is on disk up to there. Under load others' commits soon see to that, and waiting is cheaper
    /// than one more commit; where nobody writes there is nobody to wait for.
    private func awaitDurable(upTo end: LogPosition, over connection: Connection) async throws {
        for _ in 0..<settings.durabilityPolls {
            try await due.pause(until: .now + settings.durabilityPace)
            let rows = try await connection.run(
                [Call(Self.logOnDisk), Call(Self.logWritten)], deadline: settings.limits.deadline)
            guard let onDisk = rows[0].text(0, 0).flatMap({ LogPosition($0) }),
                let written = rows[1].text(0, 0).flatMap({ LogPosition($0) })
            else { break }
            if onDisk >= end { return }
            if written <= end { break }
        }
        _ = try await connection.run(
            [preamble.call(for: .feed), Call(Database.awaitDurable, [])], deadline: settings.limits.deadline)
    }

    /// Asked without the preamble, which would cost more than this does: every role may ask.
    private static let logOnDisk = Statement("feed.log_on_disk", "select pg_current_wal_flush_lsn()")
    private static let logWritten = Statement("feed.log_written", "select pg_current_wal_insert_lsn()")

    /// The first sight of a database. Where it is another than before, a restored one, the sessions hold what may not
    /// be there: they connect again, and their cursors bring a reset.
    private func begin(_ position: Position) {
        if self.position != nil {
            for sink in sinks.values {
                sink.goodbye(
                    Goodbye(.restored, "The database was restored, or another server took over: connect again."))
            }
        }
        self.position = position
    }

    private static let affectedUsers = Statement(
        "feed.concerned", "select feed.concerned($1::pg_snapshot, $2::uuid[])")

    private func runSweepLoop() async {
        var sweeps = 0
        while (try? await Task.sleep(for: settings.sweep)) != nil {
            wakeUps.signal()
            await notifier.measure()
            sweeps += 1
            if sweeps % settings.sweepsPerNote == 0, let position {
                for id in fanout.upToDate { sinks[id]?.noteCursor(position.cursor) }
            }
        }
    }
}
