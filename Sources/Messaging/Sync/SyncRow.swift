import ChangeFeed
import DatabaseAccess
import Foundations
import NIOCore
import Postgres

/// The data of one page of a view: the row of `app.subscription_page`.
struct SyncRow: Sendable {
    let epoch: String

    /// The snapshot that all pages of the view show.
    let snapshot: Snapshot

    /// True if a new view begins, whatever the cursor asked for.
    let isReset: Bool

    /// The position of the next page; nil with the last.
    let next: String?

    /// True if the log is flushed as far as it was written when the snapshot was taken.
    let isDurable: Bool

    /// True if others' presence is shown to the user.
    let seesPresence: Bool

    /// True if there may be users whom the user does not see because of a block.
    let mayMissUsers: Bool

    private let rows: Rows

    /// Takes the cursor's epoch, since, until and position, the maximum of messages per conversation, and of bytes.
    static let statement = Statement(
        "app.subscription_page",
        """
        select epoch_now, snapshot, reset, next_position, changes, conversation_ids, is_durable, \
        sees_presence, may_miss_users \
        from app.subscription_page($1, $2::pg_snapshot, $3::pg_snapshot, $4, $5::int, $6::int)
        """)

    /// Nil if the result is not a page.
    init?(_ rows: Rows) {
        guard rows.count == 1, let epoch = rows.text(0, 0), let snapshot = rows.text(0, 1).flatMap({ Snapshot($0) })
        else { return nil }
        self.epoch = epoch
        self.snapshot = snapshot
        isReset = rows.text(0, 2) == "t"
        next = rows.text(0, 3)
        isDurable = rows.text(0, 6) == "t"
        seesPresence = rows.text(0, 7) == "t"
        mayMissUsers = rows.text(0, 8) == "t"
        self.rows = rows
    }

    /// The user's conversations, with the last page; otherwise nil.
    var conversations: [ID]? { rows.ids(0, 5) }

    /// Writes the members of the page's Changes object, each after a comma.
    func writeChanges(to buffer: inout ByteBuffer) {
        rows.withBytes(0, 4) { bytes in
            guard let bytes, bytes.byteCount > 2 else { return }
            buffer.writeString(",")
            buffer.writeBytes(bytes.extracting(1..<bytes.byteCount - 1))
        }
    }
}
