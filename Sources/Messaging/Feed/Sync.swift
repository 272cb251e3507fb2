internal import NIOCore
internal import Postgres
internal import Synchronization

/// What a client asks of `sync.open`.
struct SyncRequest: Sendable {
    /// How far it is; nil where it has nothing, or a cursor that cannot be continued.
    var cursor: Cursor?
    let messagesPerConversation: Int
}

/// One answer of `sync.open`.
struct SyncPage: Sendable {
    /// Changes (`docs/protocol.md`, section 3) as JSON text.
    let changes: ByteBuffer

    /// From where live changes go on; nil while there is more to fetch.
    let start: Start?

    struct Start: Sendable {
        let epoch: String

        /// What the client has.
        let snapshot: Snapshot

        /// The conversations that the user is in as of `snapshot`.
        let conversations: [ID]

        /// Whether the user is shown others' presence: as long as it is live, since whoever changes that falls behind.
        let seesPresence: Bool
    }
}

extension SyncPage {
    /// - Parameter writeMembers: writes what has changed, each member after a comma; nothing has without it.
    init(
        cursor: Cursor, isReset: Bool = false, more: Bool = false, start: Start?,
        _ writeMembers: (inout ByteBuffer) -> Void = { _ in }
    ) {
        var changes = ByteBuffer()
        changes.writeString(#"{"cursor":"\#(cursor.text)","reset":\#(isReset),"more":\#(more)"#)
        writeMembers(&changes)
        changes.writeString("}")
        self.init(changes: changes, start: start)
    }
}

/// Reads what has changed for one user since its cursor, or its whole world.
struct Sync: Sendable {
    let database: Database

    /// Where pages are read as long as the feed looks there; nil where there is no standby.
    let standby: Database?

    /// Pages are read a few at a time, so that many who come at once leave room for others.
    let limiter: ConcurrencyLimiter

    /// Those who have missed nothing need no page.
    let reconnects: ReconnectBatcher

    /// About how large a page is at most, in bytes.
    private static let pageBytes = 512 * 1024

    /// How a page is asked for.
    enum Reading {
        /// Only where it is empty; nil where it may not be.
        case ifEmpty

        case whole(isPatient: Bool)
    }

    /// One page, as it is to be asked for.
    func page(
        _ request: SyncRequest, of user: VerifiedToken, _ readPosition: FeedReadPosition, _ reading: Reading
    ) async throws(ProtocolError) -> SyncPage? {
        switch reading {
        case .ifEmpty: await reconnects.page(request, of: user.user)
        case .whole(let isPatient):
            try await page(request, as: user.caller, readPosition, isPatient: isPatient)
        }
    }

    /// One page. A view of several pages ends with a page that says `more` and bears a plain cursor: the call after it
    /// brings what has changed since the view began, and live changes go on from there.
    ///
    /// To be called when it is one's turn.
    ///
    /// - Parameters:
    ///   - readPosition: where the feed looks: from there the page must be, so that the one goes on where the other ends.
    ///   - isPatient: whether to try again is better than to begin anew.
    /// - Returns: nil where that is a standby which has not replayed yet what the cursor has seen, or cannot be reached.
    private func page(
        _ request: SyncRequest, as caller: Caller, _ readPosition: FeedReadPosition, isPatient: Bool
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
                rows = try await standby.rows(SyncRow.statement, parameters, as: caller, after: lastPoll)
            } catch {
                // It is behind what the cursor has seen, or away, and the feed will look elsewhere.
                let failure = ProtocolError(error)
                if failure.code == .unavailable { return nil }
                throw failure
            }
        } else {
            rows = try await database.rows(SyncRow.statement, parameters, as: caller)
        }
        guard let row = SyncRow(rows) else { throw .fault("app.live_page returned no page") }
        if isPatient, row.isReset, let cursor = request.cursor, cursor.isJustAhead(of: row.snapshot, row.epoch) {
            return nil
        }
        if !row.isDurable { try await database.awaitDurable() }
        // `reset` begins a new view, whatever the cursor asked for. What the client has seen beyond the page is not told
        // to it again.
        if row.isReset { (since, until) = (nil, nil) }
        let seen = since.map(row.snapshot.union) ?? row.snapshot
        let view = (since: since, until: until ?? seen)
        let isFirst = until == nil
        let place: Cursor.Place =
            row.next.map { .within(since: view.since, until: view.until, position: $0) } ?? .at(view.until)
        let more = row.next != nil || !isFirst
        let cursor = Cursor(epoch: row.epoch, place: place)
        let start = row.conversations.map {
            SyncPage.Start(
                epoch: row.epoch, snapshot: seen, conversations: $0, seesPresence: row.seesPresence)
        }
        return SyncPage(
            cursor: cursor, isReset: row.isReset, more: more, start: more ? nil : start, row.writeChanges)
    }
}

extension MessagingService {
    /// A page of `sync.open`, which `read` reads when it is its turn; it gives nil where it is to be tried again.
    ///
    /// Where the feed looks at a standby, that may not be as far yet as the client is: what waits for it waits here, and
    /// takes nobody's turn. So a cursor holds on every node, whichever server its feed looks at.
    ///
    /// - Parameter moment: the page shows what was written before.
    /// - Throws: `unavailable` where that takes too long, or what `read` throws.
    func page<Page: Sendable>(
        _ request: SyncRequest, for user: ID, newerThan moment: ContinuousClock.Instant,
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
                // What the primary itself has not seen is not waited for. It is asked late, and once: a standby may see
                // what is committed a moment before the primary does.
                if !hasCheckedPrimary, .now - start > .milliseconds(200), let cursor = request.cursor {
                    hasCheckedPrimary = true
                    if try await sync.isAheadOfPrimary(cursor) { request.cursor = nil }
                }
            } else {
                if readPosition.standby == nil, request.cursor != nil {
                    let page = try await sync.reconnects.run { [request] () throws(ProtocolError) in
                        try await read(request, readPosition, .ifEmpty)
                    }
                    if let page { return page }
                }
                let page = try await sync.limiter.run(for: user.description) {
                    [request, backoff] () throws(ProtocolError) in
                    try await read(request, readPosition, .whole(isPatient: backoff.attempts < Self.maxRetries))
                }
                if let page { return page }
            }
            do { try await Task.sleep(for: backoff.next()) } catch { throw .unavailable }
        } while .now - start < standbyWaitTimeout
        throw .unavailable
    }

    /// How often a page is read again whose cursor is a moment ahead of the primary: it is of a standby, which saw what
    /// was committed before the primary did.
    private static let maxRetries = 4

    /// For how long a page waits for the standby.
    private var standbyWaitTimeout: Duration { .seconds(10) }
}

extension Sync {
    /// Whether no snapshot of the primary has been that far: the cursor is none of this database's, and no standby will
    /// ever see what it has seen.
    func isAheadOfPrimary(_ cursor: Cursor) async throws(ProtocolError) -> Bool {
        let rows = try await database.rows(Self.newest, [], as: .feed)
        guard let newest = rows.text(0, 0).flatMap({ Snapshot($0) }) else { throw .fault("a snapshot that is none") }
        return cursor.place.snapshots.contains { $0.xmax > newest.xmax }
    }

    private static let newest = Statement("feed.newest", "select pg_current_snapshot()")
}
