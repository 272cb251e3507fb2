import DatabaseAccess
import Foundations
import NIOCore
import Postgres

/// The result of one poll: the rows of `feed.poll_changes`, all of one snapshot.
struct PollResult: Sendable {
    let epoch: String

    /// The snapshot of this poll, from which the next continues.
    let snapshot: Snapshot

    /// The position up to which the log must be flushed before the result may be distributed; nil if it is already.
    let logEnd: LogPosition?

    private let rows: Rows

    /// Takes the snapshot of the last poll. Without it, no changes are read.
    static let statement = Statement(
        "feed.poll_changes",
        """
        select epoch, snapshot, log_end, kind, xid, conversation_id, user_id, seq, audience, object, tail, marks \
        from feed.poll_changes($1::pg_snapshot, '{presence,mutes,reactions,delivered,pieces,held,packed}')
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

    /// The changes of a poll.
    struct BatchSummary {
        var changes: [Change] = []
        var deletedUsers: [ID] = []

        /// Users who began or ceased to hide their presence. The batch does not contain the presence that they now see
        /// or no longer see.
        var mustResync: Set<ID> = []

        /// True if more has changed than one poll returns.
        var exceedsLimit = false
    }

    /// Parses the rows.
    ///
    /// - Throws: `unreadable` if a row is of an unknown kind.
    func summary() throws(FeedError) -> BatchSummary {
        var summary = BatchSummary()
        for row in 0..<rows.count {
            switch rows.text(row, 3) {
            // Without changes there is one row, of nulls.
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
    /// Nil for a row of unknown kind or shape: the SQL and the binary are of different versions.
    fileprivate init?(_ kind: String, _ rows: Rows, row: Int) {
        let conversation = rows.id(row, 5)
        let user = rows.id(row, 6)
        let seq = rows.text(row, 7).flatMap { Int64($0) }
        // The previous version of the schema does not pack audiences.
        func audience() -> [ID] { rows.ids(row, 8) ?? rows.packedIDs(row, 10) ?? [] }
        func object() -> ByteBuffer { rows.buffer(row, 9) }

        let fact: Fact
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
            // The read marks of all members, then the ends of their mutes, their unread mentions and their flags.
            let members = audience()
            let numbers = rows.numbers(row, 11) ?? []
            let own = members.enumerated().map { index, member in
                // The previous version of the schema has no mentions and flags.
                func number(_ column: Int) -> Int64 {
                    let place = column * members.count + index
                    return place < numbers.count ? numbers[place] : 0
                }
                return (
                    member,
                    ConversationObject.Own(
                        lastReadSeq: number(0), mutedUntil: number(1), unreadMentions: number(2), flags: number(3))
                )
            }
            fact = .conversation(
                conversation,
                ConversationObject(
                    head: object(), tail: rows.buffer(row, 10), lastSeq: seq,
                    members: Dictionary(own) { first, _ in first }))
        case ("own_conversation", let conversation?, let user?, _):
            fact = .ownConversation(conversation, user: user, object: object())
        case ("message", let conversation?, _, let seq?):
            fact = .message(conversation: conversation, seq: seq, object: object())
        case ("own_message", let conversation?, let user?, let seq?):
            fact = .ownMessage(conversation: conversation, user: user, seq: seq, object: object())
        case ("read", let conversation?, let user?, let seq?):
            fact = .read(conversation: conversation, user: user, seq: seq)
        case ("delivered", let conversation?, let user?, let seq?):
            fact = .delivered(conversation: conversation, user: user, seq: seq)
        case ("opening_profile", let conversation?, let user?, _):
            fact = .openingProfile(conversation: conversation, user: user, object: object())
        case ("presence", _, let user?, _):
            fact = .presence(user: user, audience: audience(), object: object())
        case ("opening_presence", let conversation?, let user?, _):
            fact = .openingPresence(conversation: conversation, user: user, object: object())
        case ("reaction", let conversation?, _, let seq?):
            fact = .reactions(conversation: conversation, seq: seq, object: object())
        case ("own_reaction", let conversation?, let user?, let seq?):
            fact = .ownReactions(conversation: conversation, user: user, seq: seq, object: object())
        case ("opening_reaction", let conversation?, _, let seq?):
            fact = .openingReactions(conversation: conversation, seq: seq, object: object())
        case ("piece", let conversation?, _, _): fact = .piece(conversation: conversation, object: object())
        case ("opening_piece", let conversation?, _, _):
            fact = .openingPiece(conversation: conversation, object: object())
        case ("opening_message", let conversation?, _, let seq?):
            fact = .openingMessage(conversation: conversation, seq: seq, object: object())
        default: return nil
        }
        self.init(transaction: rows.text(row, 4).flatMap { UInt64($0) } ?? .max, fact: fact)
    }
}

enum FeedError: Error, CustomStringConvertible {
    /// A function returned values that this version does not know: the schema is of another version.
    case unreadable

    /// The configured standby is not in recovery: it is a primary, perhaps since a moment ago.
    case noStandby

    /// The standby's lag exceeds the limit.
    case standbyIsBehind

    /// The standby has replayed as much log as the primary has written, but the log is of another database or timeline:
    /// the primary was not promoted from the server that the standby follows.
    case standbyOfAnother

    var description: String {
        switch self {
        case .unreadable: "feed.poll_changes returned values unknown to this version: the schema is of another version"
        case .noStandby: "it is a primary: it is not in recovery"
        case .standbyIsBehind: "its replication lag exceeds the limit"
        case .standbyOfAnother: "it is not a standby of the primary, or is on another timeline"
        }
    }
}
