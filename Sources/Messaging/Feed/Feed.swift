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

    struct Settings: Sendable {
        let url: String
        let limits: StatementLimits

        /// The least time between the starts of two looks, and of two bells: what commits meanwhile shares the next.
        /// It delays nothing at rest, and bounds what either costs the database under load.
        var pace: Duration = .milliseconds(5)
        var sweep: Duration = .seconds(1)

        /// How often, and how many times, it is asked whether others' commits have sealed what a look saw.
        var sealPace: Duration = .milliseconds(1)
        var sealPolls = 5

        /// For how long a session that comes before the first look waits for it.
        var firstSight: Duration = .seconds(2)

        /// After how many sweeps quiet sessions are told how far they are.
        var sweepsPerNote = 10

        /// How often in a row a look may fail before it is given up: everybody is behind then. Where its connection
        /// is ended the cause is most often another than the look, such as a restart, and it may fail more often.
        var maxFailures = 2
        var maxLosses = 10

        /// Where a look finds too much to tell: of how many users it is asked at once whether they are concerned, and
        /// for how long in all. Those who were not asked by then count as concerned.
        var usersAtOnce = 500
        var askingTime: Duration = .seconds(1)
    }

    private let settings: Settings
    private nonisolated let reactor: Reactor
    private let logger: Logger
    private let preamble: Preamble

    /// What this node rings with, so that it does not answer its own bell.
    private let node = ID.random().description

    /// Rings that ask for a look, and those that ask the other nodes' bell to be rung.
    private let looks: Bell
    private let bells: Bell

    /// How many event loops have not written yet what they were given, and the bell that tells when all have.
    private nonisolated let unwritten = Atomic(0)
    private nonisolated let written: Bell

    private var fanout = Fanout()
    private var outlets: [SubscriptionID: any Outlet] = [:]
    private var position: Position?

    /// How often the look that is due has failed, and how often it lost its connection.
    private var failures = 0
    private var losses = 0

    /// Told which users were deleted.
    private let onDeletion: @Sendable ([ID]) async -> Void

    /// When the last look that came to its end began; nil without a connection.
    private var seen: ContinuousClock.Instant?

    let figures: FeedMetrics

    private struct Position {
        let epoch: String
        let snapshot: Snapshot
        let cursor: String

        init(epoch: String, snapshot: Snapshot) {
            self.epoch = epoch
            self.snapshot = snapshot
            cursor = Cursor(epoch: epoch, place: .at(snapshot)).text
        }
    }

    init(
        settings: Settings, reactor: Reactor, logger: Logger, metrics: any MetricsFactory = MetricsSystem.factory,
        onDeletion: @escaping @Sendable ([ID]) async -> Void
    ) {
        self.onDeletion = onDeletion
        self.settings = settings
        self.reactor = reactor
        self.logger = logger
        preamble = Preamble(limits: settings.limits)
        looks = Bell(on: reactor)
        bells = Bell(on: reactor)
        written = Bell(on: reactor)
        figures = FeedMetrics(factory: metrics)
    }

    /// This node has committed a change: it is looked at here, and the other nodes are rung.
    nonisolated func changed() {
        looks.ring()
        bells.ring()
    }

    /// Runs until it is cancelled.
    func run() async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.keepLooking() }
            group.addTask { await self.keepRinging() }
            group.addTask { await self.keepListening() }
            group.addTask { await self.keepSweeping() }
        }
    }
}

// MARK: - Sessions

extension Feed {
    /// A session is about to read its page of `sync.open`; from now on nothing is lost to it.
    ///
    /// - Throws: `unavailable` where the feed has not seen the database yet, and does not see it in the next moments.
    func subscribe(
        user: ID, outlet: any Outlet, messagesPerConversation: Int
    ) async throws(ProtocolError) -> SubscriptionID {
        // A node takes lines from its first moment on, which may be one before the feed's first look.
        let limit = ContinuousClock.now + settings.firstSight
        while position == nil, .now < limit, (try? await Task.sleep(for: .milliseconds(20))) != nil {}
        guard position != nil else { throw .unavailable }
        let id = fanout.subscribe(user: user, messagesPerConversation: messagesPerConversation)
        outlets[id] = outlet
        return id
    }

    /// The page is on its way to the client: pushes go on from where it ends.
    func activate(_ id: SubscriptionID, from start: SyncPage.Start) {
        guard let outlet = outlets[id] else { return }
        outlet.startPushes(cursor: Cursor(epoch: start.epoch, place: .at(start.snapshot)).text)
        if let missed = fanout.activate(id, snapshot: start.snapshot, conversations: start.conversations) {
            deliver(missed)
        } else {
            leaveBehind(id)
        }
    }

    /// There is more for it than it is told: it asks for that by `sync.open`.
    private func leaveBehind(_ id: SubscriptionID) {
        outlets.removeValue(forKey: id)?.fallBehind()
    }

    func unsubscribe(_ id: SubscriptionID) {
        fanout.unsubscribe(id)
        outlets[id] = nil
    }

    /// Gives each event loop all that its connections get, in one go.
    private func deliver(_ deliveries: [Fanout.Delivery]) {
        var homes: [(home: any OutletHome, pushes: [SharedPush])] = []
        for delivery in deliveries {
            // Homes are few: as many as there are processors.
            for index in homes.indices { homes[index].pushes.append(SharedPush(delivery.push, receivers: [])) }
            for id in delivery.subscribers {
                guard let outlet = outlets[id] else { continue }
                let home = outlet.home
                if let index = homes.firstIndex(where: { $0.home === home }) {
                    homes[index].pushes[homes[index].pushes.count - 1].receivers.append(outlet)
                } else {
                    homes.append((home, [SharedPush(delivery.push, receivers: [outlet])]))
                }
            }
        }
        for (home, pushes) in homes {
            unwritten.add(1, ordering: .relaxed)
            home.push(pushes) { [self] in
                if unwritten.subtract(1, ordering: .acquiringAndReleasing).newValue == 0 { written.ring() }
            }
        }
    }
}

// MARK: - Looking

extension Feed {
    private func keepLooking() async {
        var backoff = Backoff(base: .milliseconds(50), limit: .seconds(2))
        while !Task.isCancelled {
            do {
                let connection = try await Connection.open(settings.url, on: reactor, options: .logging(to: logger))
                do {
                    try await look(over: connection, &backoff)
                } catch {
                    seen = nil
                    await connection.close()
                    throw error
                }
                await connection.close()
            } catch {
                // Once an outage; that it is over is said by "live".
                if backoff.attempts == 0, !Task.isCancelled {
                    logger.warning("the feed has no connection and tries again", metadata: ["error": "\(error)"])
                }
                try? await Task.sleep(for: backoff.next())
            }
        }
    }

    /// How long ago the tables were seen as they were then; nil without a connection.
    var lag: Duration? { seen.map { .now - $0 } }

    /// Looks at each ring. The first look goes on from the last one of the connection before: nothing is missed.
    private func look(over connection: Connection, _ backoff: inout Backoff) async throws {
        try await look(over: connection)
        logger.info("the feed is live")
        backoff.reset()
        var next = ContinuousClock.now
        while true {
            try await looks.next(notBefore: next)
            // While event loops are busy writing what the last look brought, what commits shares the next: one write a
            // session for all of it.
            while unwritten.load(ordering: .acquiring) > 0 { try await written.next() }
            next = .now + settings.pace
            try await look(over: connection)
        }
    }

    private func look(over connection: Connection) async throws {
        let start = ContinuousClock.now
        do {
            try await lookOnce(over: connection)
            failures = 0
            losses = 0
        } catch {
            // Ended by others or by the network; one that we give up at a deadline is a failure of the look.
            if case PostgresError.connectionLost = error { losses += 1 } else { failures += 1 }
            throw error
        }
        seen = start
        figures.looked(since: start)
        if figures.isQueueDue {
            figures.queueIsFull(
                to: try await connection.run([Call(Self.queue)], deadline: settings.limits.deadline)[0].text(0, 0))
        }
    }

    private func lookOnce(over connection: Connection) async throws {
        // What fails again and again is not asked for for ever: with no position it is only looked where we are.
        let isGivenUp = failures >= settings.maxFailures || losses >= settings.maxLosses
        let parameters = [isGivenUp ? nil : position?.snapshot.text]
        let rows = try await connection.run(
            [preamble.call(for: .feed), Call(Self.look, parameters)], deadline: settings.limits.deadline)[1]
        guard let epoch = rows.text(0, 0), let snapshot = rows.text(0, 1).flatMap({ Snapshot($0) }) else {
            throw FeedError.unreadable
        }
        guard snapshot != position?.snapshot || epoch != position?.epoch else { return }
        if let end = rows.text(0, 2) { try await seal(upTo: end, over: connection) }
        guard epoch == position?.epoch else {
            return begin(Position(epoch: epoch, snapshot: snapshot))
        }
        var changes: [Change] = []
        var deleted: [ID] = []
        var concerned: Look.Concerned = isGivenUp ? .everybody : .nobody
        for row in 0..<rows.count {
            switch rows.text(row, 3) {
            // With nothing new there is one row, of nulls.
            case nil: break
            case "many": concerned = .users(try await whoIsConcerned(over: connection))
            case "deleted": if let user = rows.id(row, 6) { deleted.append(user) }
            default:
                guard let change = Change(rows, row: row, column: 3) else { throw FeedError.unreadable }
                changes.append(change)
            }
        }
        // Of too much nothing is told.
        if case .users = concerned { changes = [] }
        figures.brought(changes.count)
        let now = Position(epoch: epoch, snapshot: snapshot)
        position = now
        distribute(Look(snapshot: snapshot, cursor: now.cursor, changes: changes, concerned: concerned))
        if !deleted.isEmpty { await onDeletion(deleted) }
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
    /// than one more commit.
    private func seal(upTo end: String, over connection: Connection) async throws {
        for _ in 0..<settings.sealPolls {
            try await looks.pause(until: .now + settings.sealPace)
            let rows = try await connection.run([Call(Self.isSealed, [end])], deadline: settings.limits.deadline)
            if rows[0].text(0, 0) == "t" { return }
        }
        _ = try await connection.run(
            [preamble.call(for: .feed), Call(Database.seal, [])], deadline: settings.limits.deadline)
    }

    private static let isSealed = Statement("feed.is_sealed", "select pg_current_wal_flush_lsn() >= $1::pg_lsn")

    /// The first sight of a database. Where it is another than before, a restored one, the sessions hold what may not
    /// be there: they connect again, and their cursors bring a reset.
    private func begin(_ position: Position) {
        if self.position != nil {
            for outlet in outlets.values {
                outlet.goodbye(Goodbye(.shuttingDown, "The database was restored: connect again."))
            }
        }
        self.position = position
    }

    /// Rows of `feed.look` beside the epoch, the snapshot, and how far the log must be on disk for all that the snapshot
    /// has seen to be, null where it is, all of one moment. With no position, only these three.
    private static let look = Statement(
        "feed.look",
        """
        with now as materialized (select app.epoch(), pg_current_snapshot()::text, \
        nullif(greatest(pg_current_wal_insert_lsn(), pg_current_wal_flush_lsn()), pg_current_wal_flush_lsn())) \
        select now.*, l.* from now left join feed.look($1::pg_snapshot) as l on $1 is not null
        """)

    private static let concerned = Statement(
        "feed.concerned", "select feed.concerned($1::pg_snapshot, $2::uuid[])")

    private static let queue = Statement("feed.queue", "select pg_notification_queue_usage()")
}

// MARK: - The doorbell

extension Feed {
    /// Rings for the other nodes, one ring in flight at a time: all that commits meanwhile shares the next.
    private func keepRinging() async {
        var backoff = Backoff(base: .milliseconds(50), limit: .seconds(2))
        while !Task.isCancelled {
            do {
                let connection = try await Connection.open(settings.url, on: reactor, options: .logging(to: logger))
                backoff.reset()
                do {
                    var next = ContinuousClock.now
                    while true {
                        try await bells.next(notBefore: next)
                        next = .now + settings.pace
                        _ = try await connection.run(
                            [Call(Self.ring, [node])], deadline: settings.limits.deadline)
                    }
                } catch {
                    await connection.close()
                    throw error
                }
                await connection.close()
            } catch {
                // The other nodes' sweeps find what this bell did not announce.
                try? await Task.sleep(for: backoff.next())
            }
        }
    }

    private static let ring = Statement("ring", "select pg_notify('postline', $1)")

    private func keepListening() async {
        let listener = Listener(
            url: settings.url, channel: "postline", options: .logging(to: logger), on: reactor)
        await listener.run { [node, looks] event in
            switch event {
            case .notified(_, let payload) where payload == node: break
            case .listening, .notified: looks.ring()
            case .lost: break
            }
        }
    }

    private func keepSweeping() async {
        var sweeps = 0
        while (try? await Task.sleep(for: settings.sweep)) != nil {
            looks.ring()
            sweeps += 1
            if sweeps % settings.sweepsPerNote == 0, let position {
                for id in fanout.upToDate { outlets[id]?.noteCursor(position.cursor) }
            }
        }
    }
}

enum FeedError: Error {
    /// `feed.look` gave what this version does not know: the schema is of another version.
    case unreadable
}
