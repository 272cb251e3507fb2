internal import NIOCore
internal import Postgres

/// What one page of a view reads: the row of `app.live_page`.
struct SyncRow: Sendable {
    let epoch: String

    /// What the view shows: all its pages are of this.
    let snapshot: Snapshot

    /// Whether a new view begins, whatever the cursor asked for.
    let isReset: Bool

    /// From where the next page goes on; nil with the last.
    let next: String?

    /// Whether the log is on disk as far as it was written when the snapshot had been taken.
    let isDurable: Bool

    /// Whether the user is shown others' presence.
    let seesPresence: Bool

    private let rows: Rows

    /// Takes the cursor's epoch, since, until and position, and the most messages a conversation and bytes.
    static let statement = Statement(
        "app.live_page",
        """
        select epoch_now, snapshot, reset, next_position, changes, conversation_ids, is_durable, \
        sees_presence \
        from app.live_page($1, $2::pg_snapshot, $3::pg_snapshot, $4, $5::int, $6::int)
        """)

    /// Nil where there is no page.
    init?(_ rows: Rows) {
        guard rows.count == 1, let epoch = rows.text(0, 0), let snapshot = rows.text(0, 1).flatMap({ Snapshot($0) })
        else { return nil }
        self.epoch = epoch
        self.snapshot = snapshot
        isReset = rows.text(0, 2) == "t"
        next = rows.text(0, 3)
        isDurable = rows.text(0, 6) == "t"
        seesPresence = rows.text(0, 7) == "t"
        self.rows = rows
    }

    /// With the last page, the conversations that the user is in.
    var conversations: [ID]? { rows.ids(0, 5) }

    /// Writes the members of the page's object of changes, each after a comma.
    func writeChanges(to buffer: inout ByteBuffer) {
        rows.withBytes(0, 4) { bytes in
            guard let bytes, bytes.byteCount > 2 else { return }
            buffer.writeString(",")
            buffer.writeBytes(bytes.extracting(1..<bytes.byteCount - 1))
        }
    }
}
