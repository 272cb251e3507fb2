import Accounts
import ChangeFeed
import DatabaseAccess
import Foundations
import NIOCore
import Postgres
import Synchronization
import WireProtocol

/// The parameters of `sync.open`.
struct SyncRequest: Sendable {
    /// The client's position; nil if it has none, or its cursor cannot be continued.
    var cursor: Cursor?
    let messagesPerConversation: Int
}

/// A page: the result of one `sync.open`.
struct SyncPage: Sendable {
    /// The Changes object (`docs/protocol.md`, section 3) as JSON text.
    let changes: ByteBuffer

    /// The point from which live changes continue; nil while there are more pages.
    let start: Feed.Start?
}

extension SyncPage {
    /// Creates a page.
    ///
    /// - Parameter writeMembers: writes the changes, each member after a comma. By default there are none.
    init(
        cursor: Cursor, isReset: Bool = false, more: Bool = false, start: Feed.Start?,
        _ writeMembers: (inout ByteBuffer) -> Void = { _ in }
    ) {
        var changes = ByteBuffer()
        changes.writeString(#"{"cursor":"\#(cursor.text)","reset":\#(isReset),"more":\#(more)"#)
        writeMembers(&changes)
        changes.writeString("}")
        self.init(changes: changes, start: start)
    }
}

/// Reads a user's changes since its cursor, or the whole of its data.
struct Sync: Sendable {
    let database: Database

    /// The pool from which pages are read while the feed polls the standby; nil if there is none.
    let standby: Database?

    /// Lets each user read one page at a time, so that the next waits for the budget of which this one takes.
    let userTurns: ConcurrencyLimiter

    /// Limits the pages that are read at once, so that many reconnecting clients leave room for other requests.
    let limiter: ConcurrencyLimiter

    /// Finds clients that have missed nothing and need no page.
    let reconnects: ReconnectBatcher

    /// The approximate maximum size of a page, in bytes.
    private static let pageBytes = 512 * 1024

    /// The way in which a page is read.
    enum Reading {
        /// Only if the page is empty; the result is nil if it may not be.
        case ifEmpty

        case whole(isPatient: Bool)
    }

    /// Reads a page. Call it only within the limiter of that way of reading.
    func page(
        _ request: SyncRequest, of user: VerifiedToken, _ readPosition: FeedReadPosition, _ reading: Reading
    ) async throws(ProtocolError) -> SyncPage? {
        switch reading {
        case .ifEmpty: await reconnects.page(request, of: user.user)
        case .whole(let isPatient):
            try await page(request, as: user, readPosition, isPatient: isPatient)
        }
    }

    /// Reads a page. A view of several pages ends with a page that has `more` and a plain cursor: the next call returns
    /// the changes since the view began, and live changes continue from there.
    ///
    /// Call it only within the limiter.
    ///
    /// - Parameters:
    ///   - readPosition: the server that the feed reads from. The page is read there too, so that pushes continue
    ///     exactly where it ends.
    ///   - isPatient: true if a retry is better than a reset.
    /// - Returns: nil if the page must be read again: the standby is unreachable or has not replayed everything that
    ///   the cursor has seen, or `isPatient` is set and the cursor is just ahead of the server.
    private func page(
        _ request: SyncRequest, as user: VerifiedToken, _ readPosition: FeedReadPosition, isPatient: Bool
    ) async throws(ProtocolError) -> SyncPage? {
        var since: Snapshot?
        var until: Snapshot?
        var position: String?
        switch request.cursor?.place {
        case nil: break
        case .at(let snapshot): since = snapshot
        case .within(let from, let to, let place): (since, until, position) = (from, to, place)
        }
        let parameters = [
            request.cursor?.epoch, since?.text, until?.text, position, String(request.messagesPerConversation),
            String(Self.pageBytes),
        ]
        let rows: Rows
        if let lastPoll = readPosition.standby, let standby {
            do throws(PostgresError) {
                rows = try await standby.rows(
                    SyncRow.statement, parameters, as: user.caller,
                    after: StandbyWatch.recordEnded(since: lastPoll.snapshot, lastPoll.started))
            } catch {
                // The standby is unreachable, or behind the cursor; the feed will leave it.
                let failure = ProtocolError(error)
                if failure.code == .unavailable { return nil }
                throw failure
            }
        } else {
            rows = try await database.rowsInTurn(SyncRow.statement, parameters, as: user.caller)
        }
        guard let row = SyncRow(rows) else { throw .fault("app.subscription_page returned no page") }
        if isPatient, row.isReset, let cursor = request.cursor, cursor.isJustAhead(of: row.snapshot, row.epoch) {
            return nil
        }
        if !row.isDurable { try await database.awaitDurable() }
        // A reset begins a new view, whatever the cursor asked for. Otherwise, changes that the client has received
        // beyond the page's snapshot are not sent again.
        if row.isReset { (since, until) = (nil, nil) }
        let seen = since.map(row.snapshot.union) ?? row.snapshot
        let view = (since: since, until: until ?? seen)
        let isFirst = until == nil
        let place: Cursor.Place =
            row.next.map { .within(since: view.since, until: view.until, position: $0) } ?? .at(view.until)
        let more = row.next != nil || !isFirst
        let cursor = Cursor(epoch: row.epoch, place: place)
        var start: Feed.Start?
        if !more, let conversations = row.conversations {
            // After the page: a block that begins later makes the session resync.
            start = .init(
                epoch: row.epoch, snapshot: seen, conversations: conversations, seesPresence: row.seesPresence,
                unseenUsers: row.mayMissUsers ? try await unseenUsers(of: user.user) : [])
        }
        return SyncPage(cursor: cursor, isReset: row.isReset, more: more, start: start, row.writeChanges)
    }

    /// Returns the users whose presence and typing are not shown to a user because of a block.
    private func unseenUsers(of user: ID) async throws(ProtocolError) -> [ID] {
        let rows = try await database.rows(Self.unseenUsers, [user.description], as: .feed)
        guard let users = rows.ids(0, 0) else { throw .fault("feed.unseen_users returned no users") }
        return users
    }

    private static let unseenUsers = Statement("feed.unseen_users", "select feed.unseen_users($1)")
}

extension MessagingService {
    /// Returns a page of `sync.open`, read by `read` once there is room. `read` returns nil to be called again.
    ///
    /// A standby may be behind the client. The wait for it takes no place in the limiter. So a cursor is valid on every
    /// node, whichever server its feed polls.
    ///
    /// - Parameter moment: the page shows everything written before this time.
    /// - Throws: `unavailable` if the wait exceeds ``standbyWaitTimeout``, or the error of `read`.
    func page<Page: Sendable>(
        _ request: SyncRequest, for owner: RequestOwner, newerThan moment: ContinuousClock.Instant,
        _ read: @Sendable (SyncRequest, FeedReadPosition, Sync.Reading) async throws(ProtocolError) -> Page?
    ) async throws(ProtocolError) -> Page {
        var request = request
        let start = ContinuousClock.now
        var backoff = Backoff(base: .milliseconds(5), limit: .milliseconds(100))
        var hasCheckedPrimary = false
        repeat {
            let readPosition = feed.readPosition.withLock { $0 }
            if sync.standby != nil, readPosition.isMoving {
                feed.requestPoll()
            } else if let standby = readPosition.standby,
                standby.reached <= moment || standby.isBehind(request.cursor)
            {
                feed.requestPoll()
                // A cursor that the primary has not reached either will not be reached by waiting. The primary is
                // queried once, and only after 200 ms, since a standby may show a commit a moment before its primary
                // does.
                if !hasCheckedPrimary, .now - start > .milliseconds(200), let cursor = request.cursor {
                    hasCheckedPrimary = true
                    if try await sync.isAheadOfPrimary(cursor) { request.cursor = nil }
                }
            } else {
                let isPatient = backoff.attempts < Self.maxRetries
                let page = try await sync.userTurns.run(for: owner) { [request] () throws(ProtocolError) -> Page? in
                    if readPosition.standby == nil, request.cursor != nil {
                        let page = try await sync.reconnects.run(for: owner) { () throws(ProtocolError) in
                            try await read(request, readPosition, .ifEmpty)
                        }
                        if let page { return page }
                    }
                    let source = readPosition.standby == nil ? sync.database : sync.standby ?? sync.database
                    try await source.awaitShare(of: owner)
                    return try await sync.limiter.run(for: owner) { () throws(ProtocolError) in
                        try await read(request, readPosition, .whole(isPatient: isPatient))
                    }
                }
                if let page { return page }
            }
            do { try await Task.sleep(for: backoff.next()) } catch { throw .unavailable }
        } while .now - start < standbyWaitTimeout
        throw .unavailable
    }

    /// The number of retries for a cursor that is just ahead of the primary: it comes from a standby, which showed a
    /// commit before the primary did.
    private static let maxRetries = 4

    /// The longest time that a page waits for the standby.
    private var standbyWaitTimeout: Duration { .seconds(10) }
}

extension Sync {
    /// Returns true if the cursor is ahead of the primary's current snapshot: it is not of this database, and no
    /// standby will ever reach it.
    func isAheadOfPrimary(_ cursor: Cursor) async throws(ProtocolError) -> Bool {
        let rows = try await database.rows(Self.newest, [], as: .feed)
        guard let newest = rows.text(0, 0).flatMap({ Snapshot($0) }) else {
            throw .fault("pg_current_snapshot() returned an invalid snapshot")
        }
        return cursor.place.snapshots.contains { $0.xmax > newest.xmax }
    }

    private static let newest = Statement("feed.newest", "select pg_current_snapshot()")
}
