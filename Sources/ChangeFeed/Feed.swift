import DatabaseAccess
package import Foundations
package import Logging
package import Metrics
import NIOCore
package import Postgres
package import Synchronization
package import WireProtocol

/// Reads committed changes from the tables and distributes them to this node's live sessions.
///
/// A wake-up says only that something may have changed. It comes from this node's own writes, from `NOTIFY` (`psql`,
/// other programs, other nodes), and once a second from the sweep, which finds changes that were not announced.
///
/// The actor runs on the thread of its connections, so that polling and distribution need no change of threads.
package actor Feed {
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    package typealias SubscriptionID = Fanout.SubscriptionID

    private let settings: Settings
    package nonisolated let reactor: Reactor
    private let logger: Logger
    private let preamble: Preamble

    private let notifier: ChangeNotifier

    /// Signals that a poll is wanted. With a standby, ``StandbyWatch`` takes them, queries the primary's log position
    /// and then signals ``due``; otherwise the feed polls at once.
    private let wakeUps: WakeSignal
    private var due: WakeSignal { standby?.due ?? wakeUps }

    /// Nil if no standby is configured.
    private let standby: StandbyWatch?

    /// The server that the feed reads from, for sessions that read pages from the same server.
    package nonisolated let readPosition = Mutex(FeedReadPosition())

    /// True while the feed is connected to the primary: it polls first and notifies the other nodes afterwards.
    private nonisolated let notifiesAfterPoll = Atomic(false)

    private let dispatcher: PushDispatcher

    private nonisolated let pendingWrites = PendingWriteTracker()

    private var fanout: Fanout
    private var sinks: [SubscriptionID: any ClientSink] = [:]
    private var position: Position?

    /// The number of changes in the last poll.
    private var changeCount = 0

    /// The number of consecutive polls that failed, and of those that lost their connection.
    private var pollFailureCount = 0
    private var connectionLossCount = 0

    /// Called with the users that were deleted.
    private let onDeletion: @Sendable ([ID]) async -> Void

    /// Changes that committed before this time are distributed; nil without a connection.
    private var seen: ContinuousClock.Instant?

    package nonisolated let metrics: FeedMetrics

    package init(
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
        fanout = Fanout(maxPushBytes: settings.maxPushBytes)
        self.metrics = FeedMetrics(factory: metrics)
        notifier = ChangeNotifier(
            settings: settings, typingSecret: typingSecret, reactor: reactor, logger: logger, metrics: self.metrics)
        standby = settings.standbyURL.map {
            StandbyWatch(url: $0, settings: settings, reactor: reactor, logger: logger)
        }
    }

    /// Records that this node has committed a change. The feed polls, and then notifies the other nodes.
    ///
    /// `NOTIFY` is a commit without a wait for the disk. A poll that sees it has to wait until the log is flushed
    /// before it can distribute its changes; so the poll comes first, unless it is delayed.
    package nonisolated func changed() {
        notifier.markPending()
        wakeUps.signal()
        if !notifiesAfterPoll.load(ordering: .sequentiallyConsistent) { notifier.wakeIfPending() }
    }

    /// Records that this node begins to write, until ``writeDidEnd()``.
    package nonisolated func writeWillBegin() { pendingWrites.begin() }

    /// Records that a write has ended, whether it committed or not, and wakes the feed.
    package nonisolated func writeDidEnd() {
        pendingWrites.end()
        changed()
    }

    package nonisolated func requestPoll() { wakeUps.signal() }

    /// Sends a typing notice to the conversation's other members who are live, on every node.
    package func publish(_ notice: TypingNotice) async {
        deliverLocally(notice)
        await notifier.send(notice)
    }

    package func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.runPollLoop() }
            group.addTask { await self.runSweepLoop() }
            group.addTask {
                // The notifier calls back on the feed's own thread.
                await self.notifier.run(changed: { self.wakeUps.signal() }) { notice in
                    self.assumeIsolated { $0.deliverLocally(notice) }
                }
            }
            if let standby { group.addTask { await standby.run(self.wakeUps) } }
        }
    }
}

extension Feed {
    /// Adds a waiting subscription. It must be called before the session reads its page of `sync.open`, so that no
    /// change is lost between the page and the first push.
    ///
    /// - Returns: the subscription, and the feed's position, which the page must have reached.
    /// - Throws: `unavailable` if the feed completes no first poll within `firstPollTimeout`.
    package func subscribe(
        user: ID, sink: any ClientSink, messagesPerConversation: Int
    ) async throws(ProtocolError) -> (SubscriptionID, Position) {
        // A node accepts lines as soon as it starts, possibly before the feed's first poll.
        let limit = ContinuousClock.now + settings.firstPollTimeout
        while position == nil, .now < limit, (try? await Task.sleep(for: .milliseconds(20))) != nil {}
        guard let position else { throw .unavailable }
        let id = fanout.subscribe(user: user, messagesPerConversation: messagesPerConversation)
        sinks[id] = sink
        return (id, position)
    }

    /// Starts the pushes of a subscription where its page ends. The page is already in the outbound queue.
    package func activate(_ id: SubscriptionID, from start: Feed.Start) {
        guard let sink = sinks[id] else { return }
        sink.startPushes(cursor: Cursor(epoch: start.epoch, place: .at(start.snapshot)).text)
        if let missed = fanout.activate(id, from: start) {
            deliver(missed)
        } else {
            requireResync(id)
        }
    }

    /// Ends a subscription whose client must resync by `sync.open`.
    private func requireResync(_ id: SubscriptionID) {
        sinks.removeValue(forKey: id)?.fallBehind()
    }

    package func unsubscribe(_ id: SubscriptionID) {
        fanout.unsubscribe(id)
        sinks[id] = nil
    }

    /// Returns, for each acknowledgement, the conversations of which it may include messages.
    func acknowledge(
        _ clients: [(client: DeliveryState.Client, acknowledgement: DeliveryState.Acknowledgement)]
    ) -> [DeliveryState.Scope] {
        clients.map { client, acknowledgement in
            guard let position else { return .all(count: nil) }
            // A cursor of another database acknowledges nothing.
            guard position.epoch == acknowledgement.epoch else { return .some([]) }
            guard case .subscription(let id) = client, let count = fanout.conversationCount(of: id) else {
                return .all(count: nil)
            }
            let snapshot = acknowledgement.snapshot
            return fanout.acknowledgements.acknowledge(snapshot, by: id, at: position.snapshot).map { .some($0) }
                ?? .all(count: count)
        }
    }

    /// Records conversations that have too many members for delivered marks.
    func recordLargeConversations(_ conversations: [ID]) {
        fanout.acknowledgements.recordLargeConversations(conversations)
    }

    private func deliverLocally(_ notice: TypingNotice) {
        let receivers = fanout.receivers(of: notice)
        if !receivers.isEmpty { deliver([Fanout.AddressedPush(subscribers: Array(receivers), push: notice.push)]) }
    }

    private func deliver(_ deliveries: [Fanout.AddressedPush]) {
        dispatcher.deliver(deliveries, to: sinks)
        for id in fanout.takeOverflowed() { requireResync(id) }
    }
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
                    // A standby only shows changes that are flushed on the primary: a poll never waits for the disk
                    // there, and so the notification need not wait for the poll.
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
                // Logged once per outage; "the feed is live" reports its end.
                if backoff.attempts == 0 {
                    logger.warning("the feed has no connection and tries again", metadata: ["error": "\(error)"])
                }
                try? await Task.sleep(for: backoff.next())
            }
        }
    }

    /// The age of the state that the last poll covered; nil without a connection.
    package var lag: Duration? { seen.map { .now - $0 } }

    /// Polls at each wake-up. The first poll continues from the last one of the previous connection, so no change is
    /// missed.
    ///
    /// Returns when the feed should move from the primary to the standby.
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
            // While event loops write the pushes of the last batch, new commits share the next poll: one write per
            // session for all of them.
            if dispatcher.hasUnwrittenPushes {
                notifier.wakeIfPending()
                try await dispatcher.waitUntilWritten()
            }
            // If the last batch took long to send, this node's pending writes share the next poll too. Otherwise, of
            // eight concurrent changes the first to commit would be sent alone, and the other seven after it.
            if !state.isAtStandby {
                let wait = min(dispatcher.lastDispatchDuration / 2, settings.maxWriteWait)
                try await pendingWrites.wait(until: .now + wait, on: due)
            }
            next = .now + pace
        }
    }

    /// The minimum time between the starts of the last poll and the next. The more has changed, the more commits share
    /// a poll.
    private var pace: Duration {
        min(settings.pace, max(settings.shortestPace, settings.pacePerChange * changeCount))
    }

    private func pollAndRecord(over connection: Connection, _ state: inout FeedConnectionState) async throws {
        let start = ContinuousClock.now
        do {
            try await poll(over: connection, &state)
            pollFailureCount = 0
            connectionLossCount = 0
        } catch {
            // The server or the network ended the connection. A poll that reaches its deadline counts as failed.
            if case PostgresError.connectionLost = error { connectionLossCount += 1 } else { pollFailureCount += 1 }
            throw error
        }
        guard state.hasCaughtUp else { return }
        let seen = state.reached ?? start
        self.seen = seen
        metrics.recordPoll(from: start, seen: seen)
    }

    private func poll(over connection: Connection, _ state: inout FeedConnectionState) async throws {
        // After repeated failures the poll is sent without a position: it returns the current snapshot and no changes.
        changeCount = 0
        let isAbandoned =
            pollFailureCount >= settings.maxPollFailures || connectionLossCount >= settings.maxConnectionLosses
        var calls = [preamble.call(for: .feed)]
        if state.isAtStandby {
            calls.append(StandbyWatch.recordEnded(since: state.hasCaughtUp ? position?.snapshot : nil, state.started))
        }
        calls.append(Call(PollResult.statement, [isAbandoned ? nil : position?.snapshot.text]))
        let rows = try await connection.run(calls, deadline: settings.limits.deadline)
        let result = try PollResult(rows[calls.count - 1])
        notifier.wakeIfPending()
        if state.isAtStandby, let standby {
            let isAwaited = try state.note(
                StandbyWatch.Moment(rows[1]), of: result.epoch, newest: await standby.mark,
                longestLag: settings.longestLag)
            // The standby has not replayed the awaited position: poll again.
            if isAwaited { due.signal() }
        }
        // After a move, the new server may for a moment show less than the previous one.
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
        // A batch beyond the limit is not distributed; its users resync.
        let changes = summary.exceedsLimit ? [] : summary.changes
        metrics.recordBatchSize(changes.count)
        changeCount = summary.changes.count
        position = now
        distribute(ChangeBatch(position: now, changes: changes, affectedUsers: affectedUsers))
        if !summary.deletedUsers.isEmpty { await onDeletion(summary.deletedUsers) }
    }

    private func distribute(_ batch: ChangeBatch) {
        let behind = fanout.dropAffected(by: batch)
        if !behind.isEmpty {
            logger.notice(
                "more has changed than is told: sessions fetch it by sync.open",
                metadata: ["sessions": "\(behind.count)"])
        }
        for id in behind { requireResync(id) }
        deliver(fanout.distribute(batch))
    }

    /// Returns this node's users who have changes, checked in groups. Users not checked in time are included.
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
                        [position?.snapshot.text, users.plainArrayLiteral { $0 }]),
                ], deadline: settings.limits.deadline)[1]
            affected.formUnion((0..<rows.count).compactMap { rows.id($0, 0) })
            unchecked = unchecked.dropFirst(users.count)
        }
        return affected.union(unchecked)
    }

    /// Returns once the log is flushed up to `end`. It first waits for other commits to flush the log, such as this
    /// node's next, since under load that is cheaper than another commit. Without other writes it has the log flushed.
    private func awaitDurable(upTo end: LogPosition, over connection: Connection) async throws {
        var isDue = false
        // The poll that a consumed signal asked for.
        defer { if isDue { due.signal() } }
        for _ in 0..<settings.durabilityPolls {
            if try await due.next(by: .now + settings.durabilityPace) { isDue = true }
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

    /// Starts at a position without distributing changes. If the database is another than before, such as a restored
    /// one, sessions may hold data that no longer exists: they must reconnect, and their cursors cause a reset.
    private func begin(_ position: Position) {
        if self.position != nil {
            for sink in sinks.values {
                sink.goodbye(
                    Goodbye(.restored, "The database was restored, or another server took over: connect again."))
            }
        }
        self.position = position
    }

    private func runSweepLoop() async {
        var sweeps = 0
        while (try? await Task.sleep(for: settings.sweep)) != nil {
            wakeUps.signal()
            await notifier.measure()
            sweeps += 1
            guard sweeps % settings.sweepsPerNote == 0 else { continue }
            if let position {
                for id in fanout.upToDate { sinks[id]?.noteCursor(position.cursor) }
            }
            fanout.acknowledgements.forgetLargeConversations()
        }
    }
}
