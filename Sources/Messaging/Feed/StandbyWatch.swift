internal import Logging
internal import Postgres

/// Follows how far the primary's log is, for a feed that looks at a standby, and while it does not, whether it could.
///
/// A ring says that the primary has something new. When the standby will, the log says: what was written before it was
/// asked how far it is, is there once it is replayed so far.
actor StandbyWatch {
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    /// How far the primary's log was at a moment.
    struct Mark: Sendable {
        let end: LogPosition

        /// Which database it was, as cursors name it: a standby that is as far in another log is none of it.
        let epoch: String

        /// When it was asked for: what was written before is in the log up to there.
        let asked: ContinuousClock.Instant
    }

    private let settings: Feed.Settings
    private let url: String
    private nonisolated let reactor: Reactor
    private let logger: Logger
    private let preamble: Preamble

    /// A look is due, and ``mark`` is of after the ring.
    nonisolated let due: WakeSignal

    /// The newest; nil before the first.
    private(set) var mark: Mark?

    /// Whether the feed may look there: it has not failed, or has been seen since to keep up. At first it may.
    private(set) var isUsable = true

    init(url: String, settings: Feed.Settings, reactor: Reactor, logger: Logger) {
        self.url = url
        self.settings = settings
        self.reactor = reactor
        self.logger = logger
        preamble = Preamble(limits: settings.limits)
        due = WakeSignal(on: reactor)
    }

    /// Looks there fail: it is to be seen keeping up before it is tried again.
    func recordFailure(_ error: any Error) {
        isUsable = false
        logger.warning("the feed looks at the primary: the standby cannot be used", metadata: ["error": "\(error)"])
    }

    /// Runs until it is cancelled.
    ///
    /// - Parameter wakeUps: each has the primary's log asked for, and then a look.
    func run(_ wakeUps: WakeSignal) async {
        await withDiscardingTaskGroup { group in
            group.addTask { await self.runLogEndLoop(wakeUps) }
            group.addTask { await self.runProbeLoop(wakeUps) }
        }
    }

    private func runLogEndLoop(_ wakeUps: WakeSignal) async {
        var backoff = Backoff(base: .milliseconds(50), limit: .seconds(2))
        while !Task.isCancelled {
            do {
                try await Connection.with(settings.url, on: reactor, options: .logging(to: logger)) { connection in
                    backoff.reset()
                    var next = ContinuousClock.now
                    while true {
                        try await wakeUps.next(notBefore: next)
                        next = .now + settings.pace
                        let asked = ContinuousClock.now
                        let rows = try await connection.run(
                            [preamble.call(for: .feed), Call(Self.logEnd), Call(Self.epoch)],
                            deadline: settings.limits.deadline)
                        guard let end = rows[1].text(0, 0).flatMap({ LogPosition($0) }), let epoch = rows[2].text(0, 0)
                        else { throw FeedError.unreadable }
                        mark = Mark(end: end, epoch: epoch, asked: asked)
                        due.signal()
                    }
                }
            } catch {
                // What was written before is looked for all the same.
                due.signal()
                try? await Task.sleep(for: backoff.next())
            }
        }
    }

    private func runProbeLoop(_ wakeUps: WakeSignal) async {
        while (try? await Task.sleep(for: settings.probe)) != nil {
            guard !isUsable else { continue }
            let start = ContinuousClock.now
            wakeUps.signal()
            let isThere = try? await Connection.with(url, on: reactor, options: .logging(to: logger)) { connection in
                while .now < start + settings.probe {
                    let (replayed, epoch) = try await progress(over: connection)
                    if let mark, mark.asked >= start, replayed >= mark.end { return mark.epoch == epoch }
                    try await Task.sleep(for: settings.pace)
                }
                return false
            }
            guard isThere == true else { continue }
            isUsable = true
            logger.notice("the feed looks at the standby again")
            wakeUps.signal()
        }
    }

    /// How far the standby is in its log, and whose that is.
    ///
    /// - Throws: `noStandby`, `LoginAbovePolicies`, or what became of the question.
    private func progress(over connection: Connection) async throws -> (replayed: LogPosition, epoch: String?) {
        try await Self.checkLogin(over: connection, settings.limits)
        let rows = try await connection.run(
            [preamble.call(for: .feed), Self.noteEnded(since: nil, nil), Call(Self.epoch)],
            deadline: settings.limits.deadline)
        return (try Moment(rows[1]).replayed, rows[2].text(0, 0))
    }

    /// Row-level security has to hold there as it does at the primary.
    ///
    /// - Throws: `LoginAbovePolicies` where it would not, or what became of the question.
    static func checkLogin(over connection: Connection, _ limits: StatementLimits) async throws {
        let rows = try await connection.run([LoginAbovePolicies.call], deadline: limits.deadline)
        if LoginAbovePolicies.isTold(by: rows[0]) {
            throw LoginAbovePolicies("The login of POSTLINE_REPLICA_DATABASE_URL")
        }
    }

    /// What a standby says of itself before it is asked.
    struct Moment: Sendable {
        /// How far the log is replayed.
        let replayed: LogPosition

        /// Since when the server runs: only as long as it does it never shows less than before.
        let started: String
    }

    /// Has the standby note what has ended, for the statement that follows; that gives a ``Moment``.
    ///
    /// - Parameters:
    ///   - snapshot: what was seen there before; nil: nothing is known.
    ///   - started: when the server began that showed it.
    static func noteEnded(since snapshot: Snapshot?, _ started: String?) -> Call {
        Call(noteEnded, [snapshot?.text, started])
    }

    private static let noteEnded = Statement(
        "app.note_ended", "select replayed, started from app.note_ended($1::pg_snapshot, $2::timestamptz)")

    private static let logEnd = Statement("app.log_end", "select app.log_end()")
    private static let epoch = Statement("feed.epoch", "select app.epoch()")
}

extension StandbyWatch.Moment {
    /// - Throws: `noStandby` where nothing is replayed.
    init(_ rows: Rows) throws(FeedError) {
        guard let replayed = rows.text(0, 0).flatMap({ LogPosition($0) }), let started = rows.text(0, 1) else {
            throw .noStandby
        }
        self.init(replayed: replayed, started: started)
    }
}

/// Where the feed looks, as sessions see it who read beside it.
struct FeedReadPosition: Sendable {
    /// A standby that the feed looks at.
    struct Standby: Sendable {
        let epoch: String

        /// What the last look saw.
        let snapshot: Snapshot

        /// Since when the server runs.
        let started: String

        /// What was written before then can be read there.
        let reached: ContinuousClock.Instant

        /// Whether a cursor of its epoch has seen what it has not.
        func isBehind(_ cursor: Cursor?) -> Bool {
            guard let cursor, cursor.epoch == epoch else { return false }
            return !cursor.place.snapshots.allSatisfy { snapshot.covers($0) }
        }
    }

    /// How often it has gone to a server.
    private(set) var moveCount = 0

    /// Whether it is not there yet: who reads now may be ahead of it.
    private(set) var isMoving = true

    /// Nil while it looks at the primary, or moves.
    private(set) var standby: Standby?

    mutating func beginMove() {
        moveCount += 1
        isMoving = true
        standby = nil
    }

    mutating func endMove() { isMoving = false }

    mutating func setStandby(_ standby: Standby) { self.standby = standby }
}
