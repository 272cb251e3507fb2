internal import NIOCore

/// What a client asks of `sync.open`.
struct SyncRequest: Sendable {
    /// How far it is; nil where it has nothing, or a cursor that cannot be continued.
    let cursor: Cursor?
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

/// Reads what has changed for one user since its cursor, or its whole world.
struct Sync: Sendable {
    let database: Database

    /// Pages are read a few at a time, so that many who come at once leave room for others.
    let limiter: ConcurrencyLimiter

    /// About how large a page is at most, in bytes.
    private static let pageBytes = 512 * 1024

    /// One page. A view of several pages ends with a page that says `more` and bears a plain cursor: the call after it
    /// brings what has changed since the view began, and live changes go on from there.
    ///
    /// To be called when it is one's turn.
    func page(_ request: SyncRequest, as caller: Caller) async throws(ProtocolError) -> SyncPage {
        var since: Snapshot?
        var until: Snapshot?
        var position: String?
        switch request.cursor?.place {
        case nil: break
        case .at(let snapshot): since = snapshot
        case .within(let from, let to, let place): (since, until, position) = (from, to, place)
        }
        let rows = try await database.rows(
            SyncRow.statement,
            [
                request.cursor?.epoch, since?.text, until?.text, position, String(request.messagesPerConversation),
                String(Self.pageBytes),
            ], as: caller)
        guard let row = SyncRow(rows) else { throw .fault("app.live_page returned no page") }
        if !row.isDurable { try await database.awaitDurable() }
        // `reset` begins a new view, whatever the cursor asked for.
        let view = (since: row.isReset ? nil : since, until: row.isReset ? row.snapshot : until ?? row.snapshot)
        let isFirst = row.isReset || until == nil
        let place: Cursor.Place =
            row.next.map { .within(since: view.since, until: view.until, position: $0) } ?? .at(view.until)
        let more = row.next != nil || !isFirst
        let cursor = Cursor(epoch: row.epoch, place: place)
        var changes = ByteBuffer()
        changes.writeString(#"{"cursor":"\#(cursor.text)","reset":\#(row.isReset),"more":\#(more)"#)
        row.writeChanges(to: &changes)
        changes.writeString("}")
        guard !more, let conversations = row.conversations else { return SyncPage(changes: changes, start: nil) }
        return SyncPage(
            changes: changes,
            start: .init(
                epoch: row.epoch, snapshot: row.snapshot, conversations: conversations, seesPresence: row.seesPresence))
    }
}
