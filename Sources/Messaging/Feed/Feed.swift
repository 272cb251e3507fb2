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

    private let doorbell: Doorbell

    /// Rings that ask for a look, and what has it look: where there is a standby, the primary is asked between them.
    private let looks: WakeSignal
    private var due: WakeSignal { standby?.due ?? looks }

    /// Nil where there is no standby to look at.
    private let standby: StandbyWatch?

    /// Where it looks, for those who read beside it.
    nonisolated let sight = Mutex(FeedSight())

    /// Whether the ring that is due comes after this node's own look: while there is a connection to look over.
    private nonisolated let isLooking = Atomic(false)

    /// To the event loops.
    private let handover: Handover

    private nonisolated let openWrites = OpenWrites()

    private var fanout = Fanout()
    private var sinks: [SubscriptionID: any ClientSink] = [:]
    private var position: Position?

    /// How often the look that is due has failed, and how often it lost its connection.
    private var failures = 0
    private var losses = 0

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
        looks = WakeSignal(on: reactor)
        handover = Handover(on: reactor)
        self.metrics = FeedMetrics(factory: metrics)
        doorbell = Doorbell(
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
        doorbell.isDue()
        looks.signal()
        if !isLooking.load(ordering: .sequentiallyConsistent) { doorbell.ring() }
    }

    /// This node writes something, until ``hasWritten()``.
    nonisolated func isWriting() { openWrites.begin() }

    /// That is over: committed, or perhaps.
    nonisolated func hasWritten() {
        openWrites.end()
        changed()
    }

    /// A look is wanted.
    nonisolated func look() { looks.signal() }

    /// Tells the conversation's other members who are live, on every node.
    func tell(_ notice: TypingNotice) async {
        tellHere(notice)
        await doorbell.tell(notice)
    }

    /// Runs until it is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepLooking() }
            group.addTask { await self.keepSweeping() }
            group.addTask {
                // On the thread of both.
                await self.doorbell.run(rung: { self.looks.signal() }) { notice in
                    self.assumeIsolated { $0.tellHere(notice) }
                }
            }
            if let standby { group.addTask { await standby.run(self.looks) } }
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
        let limit = ContinuousClock.now + settings.firstSight
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
            leaveBehind(id)
        }
    }

    /// There is more for it than it is told: it asks for that by `sync.open`.
    private func leaveBehind(_ id: SubscriptionID) {
        sinks.removeValue(forKey: id)?.fallBehind()
    }

    func unsubscribe(_ id: SubscriptionID) {
        fanout.unsubscribe(id)
        sinks[id] = nil
    }

    private func tellHere(_ notice: TypingNotice) {
        let receivers = fanout.others(in: notice.conversation, than: notice.user)
        if !receivers.isEmpty { deliver([Fanout.Delivery(subscribers: Array(receivers), push: notice.push)]) }
    }

    private func deliver(_ deliveries: [Fanout.Delivery]) { handover.deliver(deliveries, to: sinks) }
}

extension Feed {
    private func keepLooking() async {
        var backoff = Backoff(base: .milliseconds(50), limit: .seconds(2))
        while !Task.isCancelled {
            let visit = FeedVisit(isAtStandby: await standby?.isNear == true)
            sight.withLock { $0.move() }
            do {
                let url = (visit.isAtStandby ? settings.standbyURL : nil) ?? settings.url
                try await Connection.with(url, on: reactor, options: .logging(to: logger)) { connection in
                    if visit.isAtStandby { try await StandbyWatch.checkLogin(over: connection, settings.limits) }
                    // What a standby shows is on disk: nothing holds up a look there.
                    isLooking.store(!visit.isAtStandby, ordering: .sequentiallyConsistent)
                    defer {
                        seen = nil
                        isLooking.store(false, ordering: .sequentiallyConsistent)
                        doorbell.ring()
                    }
                    try await look(over: connection, visit, &backoff)
                }
            } catch {
                if Task.isCancelled { return }
                if visit.isAtStandby, let standby {
                    await standby.hasFailed(error)
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
    private func look(over connection: Connection, _ visit: FeedVisit, _ backoff: inout Backoff) async throws {
        var visit = visit
        var isLive = false
        looks.signal()
        var next = ContinuousClock.now
        while true {
            try await look(over: connection, &visit)
            if visit.hasArrived, !isLive {
                isLive = true
                metrics.looks(atStandby: visit.isAtStandby)
                logger.info("the feed is live", metadata: ["at": visit.isAtStandby ? "standby" : "primary"])
                backoff.reset()
            }
            if !visit.isAtStandby, await standby?.isNear == true { return }
            try await due.next(notBefore: next)
            // While event loops are busy writing what the last look brought, what commits shares the next: one write a
            // session for all of it.
            if handover.isUnderWay {
                doorbell.ring()
                try await handover.end()
            }
            // What this node is writing shares it too, where the last one took long to give out: of eight changes that
            // come at once the first to commit would else be given out alone, and the others after it.
            if !visit.isAtStandby {
                try await openWrites.wait(until: .now + min(handover.lastTime / 2, settings.sharing), on: due)
            }
            next = .now + settings.pace
        }
    }

    private func look(over connection: Connection, _ visit: inout FeedVisit) async throws {
        let start = ContinuousClock.now
        do {
            try await lookOnce(over: connection, &visit)
            failures = 0
            losses = 0
        } catch {
            // Ended by others or by the network; one that we give up at a deadline is a failure of the look.
            if case PostgresError.connectionLost = error { losses += 1 } else { failures += 1 }
            throw error
        }
        guard visit.hasArrived else { return }
        let seen = visit.reached ?? start
        self.seen = seen
        metrics.looked(from: start, seen: seen)
    }

    private func lookOnce(over connection: Connection, _ visit: inout FeedVisit) async throws {
        // What fails again and again is not asked for for ever: with no position it is only looked where we are.
        let isGivenUp = failures >= settings.maxFailures || losses >= settings.maxLosses
        var calls = [preamble.call(for: .feed)]
        if visit.isAtStandby {
            calls.append(StandbyWatch.noteEnded(since: visit.hasArrived ? position?.snapshot : nil, visit.started))
        }
        calls.append(Call(NextLook.statement, [isGivenUp ? nil : position?.snapshot.text]))
        let rows = try await connection.run(calls, deadline: settings.limits.deadline)
        let look = try NextLook(rows[calls.count - 1])
        doorbell.ring()
        if visit.isAtStandby, let standby {
            let isAwaited = try visit.note(
                StandbyWatch.Moment(rows[1]), of: look.epoch, newest: await standby.mark,
                longestLag: settings.longestLag)
            // It is looked again until it is there.
            if isAwaited { due.signal() }
        }
        // Another server may see less than the one before did, for a moment.
        let isBehind =
            visit.isAtStandby && visit.reached == nil
            || position.map { before in
                look.epoch == before.epoch && !look.snapshot.covers(before.snapshot)
            } ?? false
        if isBehind {
            if visit.isStuck(after: settings.longestLag) {
                logger.warning(
                    """
                    nothing is pushed: a commit that the standby has shown is not over at the primary, as one that \
                    waits for a synchronous standby; clients who connect are told that the service is unavailable
                    """)
            }
            return due.signal()
        }
        try await tell(look, isGivenUp, over: connection)
        visit.hasArrived = true
        sight.withLock {
            $0.arrive()
            if let reached = visit.reached, let started = visit.started {
                $0.look(at: .init(epoch: look.epoch, snapshot: look.snapshot, started: started, reached: reached))
            }
        }
    }

    private func tell(_ look: NextLook, _ isGivenUp: Bool, over connection: Connection) async throws {
        guard look.snapshot != position?.snapshot || look.epoch != position?.epoch else { return }
        if let end = look.logEnd { try await awaitDurable(upTo: end, over: connection) }
        let now = Position(epoch: look.epoch, snapshot: look.snapshot)
        guard look.epoch == position?.epoch else { return begin(now) }
        let news = try look.news()
        var concerned: Look.Concerned = isGivenUp ? .everybody : news.behind.isEmpty ? .nobody : .users(news.behind)
        if news.isTooMuch { concerned = .users(try await whoIsConcerned(over: connection).union(news.behind)) }
        // Of too much nothing is told.
        let changes = news.isTooMuch ? [] : news.changes
        metrics.brought(changes.count)
        position = now
        distribute(Look(snapshot: now.snapshot, cursor: now.cursor, changes: changes, concerned: concerned))
        if !news.deletedUsers.isEmpty { await onDeletion(news.deletedUsers) }
    }

    private func distribute(_ look: Look) {
        let behind = fanout.dropConcerned(by: look)
        if case .nobody = look.concerned {
        } else {
            logger.notice(
                "more has changed than is told: sessions fetch it by sync.open",
                metadata: ["sessions": "\(behind.count)"])
        }
        for id in behind { leaveBehind(id) }
        deliver(fanout.distribute(look))
    }

    /// Which of this node's users there is news for, asked of a few at a time.
    private func whoIsConcerned(over connection: Connection) async throws -> Set<ID> {
        let limit = ContinuousClock.now + settings.askingTime
        var unasked = Array(fanout.users)[...]
        var concerned: Set<ID> = []
        while !unasked.isEmpty, .now < limit {
            let users = unasked.prefix(settings.usersAtOnce)
            let rows = try await connection.run(
                [
                    preamble.call(for: .feed),
                    Call(
                        Self.concerned,
                        [position?.snapshot.text, "{\(users.map(\.description).joined(separator: ","))}"]),
                ], deadline: settings.limits.deadline)[1]
            concerned.formUnion((0..<rows.count).compactMap { rows.id($0, 0) })
            unasked = unasked.dropFirst(users.count)
        }
        return concerned.union(unasked)
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

    private static let concerned = Statement(
        "feed.concerned", "select feed.concerned($1::pg_snapshot, $2::uuid[])")

    private func keepSweeping() async {
        var sweeps = 0
        while (try? await Task.sleep(for: settings.sweep)) != nil {
            looks.signal()
            await doorbell.measure()
            sweeps += 1
            if sweeps % settings.sweepsPerNote == 0, let position {
                for id in fanout.upToDate { sinks[id]?.noteCursor(position.cursor) }
            }
        }
    }
}
