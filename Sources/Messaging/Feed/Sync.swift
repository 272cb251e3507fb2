internal import NIOCore
internal import Postgres

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
    }
}

/// Reads what has changed for one user since its cursor, or its whole world.
struct Sync: Sendable {
    let database: Database

    /// Pages are read a few at a time, so that many who come at once leave room for others.
    let turnstile: Turnstile

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
            Self.function,
            [
                request.cursor?.epoch, since?.text, until?.text, position, String(request.messagesPerConversation),
                String(Self.pageBytes),
            ], as: caller)
        guard rows.count == 1, let epoch = rows.text(0, 0), let snapshot = rows.text(0, 1).flatMap({ Snapshot($0) })
        else {
            throw .fault("api.sync returned no page")
        }
        if rows.text(0, 6) != "t" { try await database.seal() }
        // `reset` begins a new view, whatever the cursor asked for.
        let reset = rows.text(0, 2) == "t"
        let view = (since: reset ? nil : since, until: reset ? snapshot : until ?? snapshot)
        let isFirst = reset || until == nil
        let next = rows.text(0, 3)
        let place: Cursor.Place =
            next.map { .within(since: view.since, until: view.until, position: $0) } ?? .at(view.until)
        let more = next != nil || !isFirst
        let cursor = Cursor(epoch: epoch, place: place)
        var changes = ByteBuffer()
        changes.writeString(#"{"cursor":"\#(cursor.text)","reset":\#(reset),"more":\#(more)"#)
        rows.withBytes(0, 4) { bytes in
            guard let bytes, bytes.byteCount > 2 else { return }
            changes.writeString(",")
            changes.writeBytes(bytes.extracting(1..<bytes.byteCount - 1))
        }
        changes.writeString("}")
        guard !more, let conversations = rows.text(0, 5) else { return SyncPage(changes: changes, start: nil) }
        return SyncPage(
            changes: changes,
            start: .init(
                epoch: epoch, snapshot: snapshot, conversations: conversations.arrayElements.compactMap { ID($0) }))
    }

    /// The last column is whether the log is on disk as far as it was written when the snapshot had been taken.
    private static let function = Statement(
        "api.sync",
        """
        select epoch_now, snapshot, reset, next_position, changes, conversation_ids, \
        pg_current_wal_insert_lsn() <= pg_current_wal_flush_lsn() \
        from api.sync($1, $2::pg_snapshot, $3::pg_snapshot, $4, $5::int, $6::int)
        """)
}

extension String {
    /// The elements of a PostgreSQL array of plain values: `{a,b}`.
    var arrayElements: [Substring] { dropFirst().dropLast().split(separator: ",") }
}
