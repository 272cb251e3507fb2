import Foundations
import NIOCore

/// A change that a poll of the feed found: a row of `feed.poll_changes`.
package struct Change: Sendable {
    /// The transaction that made the change. A session whose snapshot sees it already has the change.
    /// `.max` for rows that only accompany another change and are not pushed without it: no snapshot sees them.
    package let transaction: UInt64
    let fact: Fact

    /// The JSON value that represents the change in a push. All receivers share it.
    let object: ByteBuffer

    init(transaction: UInt64, fact: Fact) {
        self.transaction = transaction
        self.fact = fact
        object = fact.object
    }

    enum Fact: Sendable {
        /// A user left a conversation or was removed from it.
        case left(conversation: ID, user: ID)

        /// A user joined a conversation.
        case joined(conversation: ID, user: ID)

        /// A user's own data.
        case me(user: ID, object: ByteBuffer)

        /// The public part of a user's data, for all members of the conversations in `audience`.
        case profile(user: ID, audience: [ID], object: ByteBuffer)

        /// The metadata or membership of a conversation.
        case conversation(ID, ConversationObject)

        /// A conversation as one member sees it, when only that member's own part changed.
        case ownConversation(ID, user: ID, object: ByteBuffer)

        case message(conversation: ID, seq: Int64, object: ByteBuffer)

        /// A message that is held, as its sender sees it, instead of the message or opening message that follows.
        case ownMessage(conversation: ID, user: ID, seq: Int64, object: ByteBuffer)

        /// A member's read mark.
        case read(conversation: ID, user: ID, seq: Int64)

        /// The newest message that a member's devices have received, for the other members.
        case delivered(conversation: ID, user: ID, seq: Int64)

        /// The profile of a member of a conversation that a user has joined.
        case openingProfile(conversation: ID, user: ID, object: ByteBuffer)

        /// A user's presence, for all members of the conversations in `audience` to whom presence is shown.
        case presence(user: ID, audience: [ID], object: ByteBuffer)

        /// The presence of a member of a conversation that a user has joined.
        case openingPresence(conversation: ID, user: ID, object: ByteBuffer)

        /// One of the newest messages of a conversation that a user has joined, in ascending order.
        case openingMessage(conversation: ID, seq: Int64, object: ByteBuffer)

        /// The reactions to a message, without what each user has set itself.
        case reactions(conversation: ID, seq: Int64, object: ByteBuffer)

        /// The reactions to a message as one user sees them, when that user's own changed.
        case ownReactions(conversation: ID, user: ID, seq: Int64, object: ByteBuffer)

        /// The reactions to one of the newest messages of a conversation that a user has joined.
        case openingReactions(conversation: ID, seq: Int64, object: ByteBuffer)

        /// New text of a message that grows.
        case piece(conversation: ID, object: ByteBuffer)

        /// The text so far of a message that grows, in a conversation that a user has joined.
        case openingPiece(conversation: ID, object: ByteBuffer)
    }
}

/// A conversation as JSON text, with a gap for the values that differ between members.
struct ConversationObject: Sendable {
    /// The text up to and including `"last_read_seq":`.
    let head: ByteBuffer

    /// The text after the member's own values.
    let tail: ByteBuffer
    let lastSeq: Int64
    let members: [ID: Own]

    /// The values that are a member's own.
    struct Own: Sendable {
        let lastReadSeq: Int64

        /// The end of the mute, in microseconds since 1970, or 0.
        let mutedUntil: Int64
        let unreadMentions: Int64

        /// The sum of 1 if the conversation is marked as unread, 2 if it is archived, 4 if it is pinned, 256 for each
        /// scheduled message, and 2^20 for each unsent one.
        let flags: Int64
    }

    /// Returns the whole object as that member sees it, or nil if the user is not a member.
    func object(for member: ID) -> ByteBuffer? {
        guard let own = members[member] else { return nil }
        var object = head
        let until = own.mutedUntil > 0 ? "\"\(Timestamp.text(microseconds: own.mutedUntil))\"" : "null"
        object.writeString(
            #"\#(own.lastReadSeq),"unread_count":\#(max(0, lastSeq - own.lastReadSeq)),"#
                + #""unread_mentions":\#(own.unreadMentions),"is_marked_unread":\#(own.flags & 1 != 0),"#
                + #""muted_until":\#(until),"is_archived":\#(own.flags & 2 != 0),"is_pinned":\#(own.flags & 4 != 0),"#
                + #""scheduled_count":\#(own.flags >> 8 & 4_095),"unsent_count":\#(own.flags >> 20)"#)
        object.writeImmutableBuffer(tail)
        return object
    }
}

/// The changes that one poll of the feed found.
struct ChangeBatch: Sendable {
    /// The feed's position after the batch, which is that of a client that has received all of it.
    var position: Feed.Position

    /// The changes, memberships first.
    let changes: [Change]

    /// Users with more changes than the batch contains. They receive `sync.lagged` and must resync.
    var affectedUsers = AffectedUsers.nobody

    var snapshot: Snapshot { position.snapshot }

    /// The approximate memory that the batch holds, in bytes.
    var heldBytes: Int { changes.reduce(0) { $0 + $1.object.readableBytes } }

    /// The batch without its changes. All users must resync.
    var withoutChanges: ChangeBatch {
        ChangeBatch(position: position, changes: [], affectedUsers: .everybody)
    }

    enum AffectedUsers: Sendable {
        case nobody
        case users(Set<ID>)
        case everybody

        var isEmpty: Bool { if case .nobody = self { true } else { false } }

        func includes(_ user: ID) -> Bool {
            switch self {
            case .nobody: false
            case .users(let users): users.contains(user)
            case .everybody: true
            }
        }
    }
}
