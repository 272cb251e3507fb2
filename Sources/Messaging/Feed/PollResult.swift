internal import NIOCore
internal import Postgres

/// What a look of the feed reads: the rows of `feed.next_look`, all of one moment.
struct PollResult: Sendable {
    let epoch: String

    /// What the tables show: the look after this asks since it.
    let snapshot: Snapshot

    /// How far the log must be on disk for all that the snapshot has seen to be; nil where it is.
    let logEnd: LogPosition?

    private let rows: Rows

    /// Takes the snapshot of the last look. Without one, nothing but the moment is read.
    static let statement = Statement(
        "feed.next_look",
        """
        select epoch, snapshot, log_end, kind, xid, conversation_id, user_id, seq, audience, object, tail, marks \
        from feed.next_look($1::pg_snapshot, '{presence,mutes,packed}')
        """)

    init(_ rows: Rows) throws(FeedError) {
        guard rows.count > 0, let epoch = rows.text(0, 0), let snapshot = rows.text(0, 1).flatMap({ Snapshot($0) })
        else { throw .unreadable }
        self.epoch = epoch
        self.snapshot = snapshot
        switch rows.text(0, 2) {
        case nil: logEnd = nil
        case let text?:
            guard let end = LogPosition(text) else { throw .unreadable }
            logEnd = end
        }
        self.rows = rows
    }

    /// What has changed.
    struct BatchSummary {
        var changes: [Change] = []
        var deletedUsers: [ID] = []

        /// Who began or ceased to hide its own presence: what they are shown of others is not told here.
        var mustResync: Set<ID> = []

        /// Whether more has changed than is told.
        var exceedsLimit = false
    }

    /// Reads what has changed.
    func summary() throws(FeedError) -> BatchSummary {
        var summary = BatchSummary()
        for row in 0..<rows.count {
            switch rows.text(row, 3) {
            // With nothing new there is one row, of nulls.
            case nil: break
            case "many": summary.exceedsLimit = true
            case "deleted": if let user = rows.id(row, 6) { summary.deletedUsers.append(user) }
            case "behind": if let user = rows.id(row, 6) { summary.mustResync.insert(user) }
            case let kind?:
                guard let change = Change(kind, rows, row: row) else { throw .unreadable }
                summary.changes.append(change)
            }
        }
        return summary
    }
}

extension Change {
    /// Nil for a row that is none of ours: SQL and Swift are then of different versions.
    fileprivate init?(_ kind: String, _ rows: Rows, row: Int) {
        let conversation = rows.id(row, 5)
        let user = rows.id(row, 6)
        let seq = rows.text(row, 7).flatMap { Int64($0) }
        // A schema of the version before packs none.
        func audience() -> [ID] { rows.ids(row, 8) ?? rows.packedIDs(row, 10) ?? [] }
        func object() -> ByteBuffer { rows.buffer(row, 9) }

        switch (kind, conversation, user, seq) {
        case ("left", let conversation?, let user?, _):
            fact = .left(conversation: conversation, user: user)
        case ("joined", let conversation?, let user?, _):
            fact = .joined(conversation: conversation, user: user)
        case ("me", _, let user?, _):
            fact = .me(user: user, object: object())
        case ("profile", _, let user?, _):
            fact = .profile(user: user, audience: audience(), object: object())
        case ("conversation", let conversation?, _, let seq?):
            // Of each member its mark, and then of each until when it has muted it.
            let members = audience()
            let marks = rows.numbers(row, 11) ?? []
            let mutes = zip(members, marks.dropFirst(members.count)).filter { $0.1 > 0 }
            fact = .conversation(
                conversation,
                ConversationObject(
                    head: object(), tail: rows.buffer(row, 10), lastSeq: seq,
                    marks: Dictionary(zip(members, marks)) { first, _ in first },
                    mutedUntil: Dictionary(mutes) { first, _ in first }))
        case ("own_conversation", let conversation?, let user?, _):
            fact = .ownConversation(conversation, user: user, object: object())
        case ("message", let conversation?, _, let seq?):
            fact = .message(conversation: conversation, seq: seq, object: object())
        case ("read", let conversation?, let user?, let seq?):
            fact = .read(conversation: conversation, user: user, seq: seq)
        case ("opening_profile", let conversation?, let user?, _):
            fact = .openingProfile(conversation: conversation, user: user, object: object())
        case ("presence", _, let user?, _):
            fact = .presence(user: user, audience: audience(), object: object())
        case ("opening_presence", let conversation?, let user?, _):
            fact = .openingPresence(conversation: conversation, user: user, object: object())
        case ("opening_message", let conversation?, _, let seq?):
            fact = .openingMessage(conversation: conversation, seq: seq, object: object())
        default: return nil
        }
        transaction = rows.text(row, 4).flatMap { UInt64($0) } ?? .max
    }
}

enum FeedError: Error, CustomStringConvertible {
    /// `feed.next_look` gave what this version does not know: the schema is of another version.
    case unreadable

    /// What was taken for a standby replays no log: it is a primary, perhaps since a moment ago.
    case noStandby

    /// The standby is too long after the primary.
    case standbyIsBehind

    /// The standby has replayed as much log as the primary has written, but it is another database's log, or that of
    /// another timeline: a primary that was not promoted from what the standby follows.
    case standbyOfAnother

    var description: String {
        switch self {
        case .unreadable: "feed.next_look gives what this version does not know: the schema is of another one"
        case .noStandby: "it replays no log: it is a primary"
        case .standbyIsBehind: "it is too long after the primary"
        case .standbyOfAnother: "it is no standby of the primary, or not of its timeline"
        }
    }
}
