import DatabaseAccess
import Foundations
package import Logging
package import Postgres
import Schema

/// Tracks the primary's log position for a feed that polls a standby, and probes a standby that the feed does not use.
///
/// A wake-up says that the primary has changes. The log position says when the standby has them: everything written
/// before the position was queried is visible once the standby has replayed the log up to it.
package actor StandbyWatch {
    package nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe reactor.asUnownedSerialExecutor() }

    /// The primary's log position at a time.
    package struct Mark: Sendable {
        package let end: LogPosition

        /// The epoch of the primary, as in cursors. It detects a standby of another database, whose log position means
        /// nothing here.
        package let epoch: String

        /// The time of the query. Everything written before it is in the log up to `end`.
        package let asked: ContinuousClock.Instant
    }

    private let settings: Feed.Settings
    private let url: String
    private nonisolated let reactor: Reactor
    private let logger: Logger
    private let preamble: Preamble

    /// Signals that a poll is due, after ``mark`` was updated.
    package nonisolated let due: WakeSignal

    /// The newest position; nil before the first.
    private(set) var mark: Mark?

    /// True if the feed may poll the standby: no poll has failed there since it was last seen keeping up. Initially
    /// true.
    private(set) var isUsable = true

    package init(url: String, settings: Feed.Settings, reactor: Reactor, logger: Logger) {
        self.url = url
        self.settings = settings
        self.reactor = reactor
        self.logger = logger
        preamble = Preamble(limits: settings.limits)
        due = WakeSignal(on: reactor)
    }

    /// Records that a poll of the standby failed. It is not used again until a probe has seen it keep up.
    package func recordFailure(_ error: any Error) {
        isUsable = false
        logger.warning("the feed looks at the primary: the standby cannot be used", metadata: ["error": "\(error)"])
    }

    /// Runs until it is cancelled.
    ///
    /// - Parameter wakeUps: each signal causes a query of the primary's log position, and then a poll.
    package func run(_ wakeUps: WakeSignal) async {
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
                // Poll all the same: the standby may have earlier writes.
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

    /// Returns the standby's replayed log position and its epoch.
    ///
    /// - Throws: `noStandby`, `LoginBypassesRLS`, or the error of the query.
    private func progress(over connection: Connection) async throws -> (replayed: LogPosition, epoch: String?) {
        try await Self.checkLogin(over: connection, settings.limits)
        let rows = try await connection.run(
            [preamble.call(for: .feed), Self.recordEnded(since: nil, nil), Call(Self.epoch)],
            deadline: settings.limits.deadline)
        return (try Moment(rows[1]).replayed, rows[2].text(0, 0))
    }

    /// Checks that row-level security holds on the standby as it does on the primary.
    ///
    /// - Throws: `LoginBypassesRLS` if it does not, or the error of the query.
    static func checkLogin(over connection: Connection, _ limits: StatementLimits) async throws {
        let rows = try await connection.run([LoginBypassesRLS.call], deadline: limits.deadline)
        if LoginBypassesRLS.isReported(by: rows[0]) {
            throw LoginBypassesRLS("The login of POSTLINE_REPLICA_DATABASE_URL")
        }
    }

    /// The state of a standby before a query.
    struct Moment: Sendable {
        /// The log position up to which it has replayed.
        let replayed: LogPosition

        /// The start time of the server process. Only as long as it runs does the standby never show less than before.
        package let started: String
    }

    /// Returns the call that records which transactions have ended, for the next statement of the same transaction. Its
    /// result is a ``Moment``.
    ///
    /// - Parameters:
    ///   - snapshot: the last snapshot of this standby; nil if there is none.
    ///   - started: the start time of the server process that showed it.
    package static func recordEnded(since snapshot: Snapshot?, _ started: String?) -> Call {
        Call(recordEnded, [snapshot?.text, started])
    }

    private static let recordEnded = Statement(
        "app.record_ended_transactions",
        "select replayed, started from app.record_ended_transactions($1::pg_snapshot, $2::timestamptz)")

    private static let logEnd = Statement("app.log_end", "select app.log_end()")
    private static let epoch = Statement("feed.epoch", "select app.epoch()")
}

extension StandbyWatch.Moment {
    /// Parses the result of `app.record_ended_transactions`.
    ///
    /// - Throws: `noStandby` if the server is not in recovery.
    init(_ rows: Rows) throws(FeedError) {
        guard let replayed = rows.text(0, 0).flatMap({ LogPosition($0) }), let started = rows.text(0, 1) else {
            throw .noStandby
        }
        self.init(replayed: replayed, started: started)
    }
}

/// The server that the feed reads from, for sessions that read pages.
package struct FeedReadPosition: Sendable {
    /// The standby that the feed polls.
    package struct Standby: Sendable {
        package let epoch: String

        /// The snapshot of the last poll.
        package let snapshot: Snapshot

        /// The start time of the server process.
        package let started: String

        /// Everything written before this time is visible on the standby.
        package let reached: ContinuousClock.Instant

        /// Returns true if a cursor of the same epoch has seen transactions that the standby has not.
        package func isBehind(_ cursor: Cursor?) -> Bool {
            guard let cursor, cursor.epoch == epoch else { return false }
            return !cursor.place.snapshots.allSatisfy { snapshot.covers($0) }
        }
    }

    /// The number of times that the feed has changed its connection.
    package private(set) var moveCount = 0

    /// True until the feed has caught up on its connection: reads in the meantime may be ahead of it.
    package private(set) var isMoving = true

    /// Nil while the feed polls the primary, or moves.
    package private(set) var standby: Standby?

    mutating func beginMove() {
        moveCount += 1
        isMoving = true
        standby = nil
    }

    mutating func endMove() { isMoving = false }

    mutating func setStandby(_ standby: Standby) { self.standby = standby }
}
