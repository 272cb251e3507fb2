internal import NIOCore

/// One thing that a look of the feed found changed: a row of `feed.next_look`.
struct Change: Sendable {
    /// The transaction that did it: tells whether a session's own snapshot saw it already. What only goes along with
    /// another change has none of its own, which no snapshot sees.
    let transaction: UInt64
    let fact: Fact

    enum Fact: Sendable {
        /// A user is out of a conversation.
        case left(conversation: ID, user: ID)

        /// A user is in a conversation that it was not in before.
        case joined(conversation: ID, user: ID)

        /// Anything of a user's own data.
        case me(user: ID, object: ByteBuffer)

        /// The public part of a user's data, for all in the conversations of `audience`.
        case profile(user: ID, audience: [ID], object: ByteBuffer)

        /// Metadata or membership of a conversation.
        case conversation(ID, ConversationObject)

        /// A conversation as one member sees it, of which only what is that member's own has changed.
        case ownConversation(ID, user: ID, object: ByteBuffer)

        case message(conversation: ID, seq: Int64, object: ByteBuffer)

        /// A member's mark.
        case read(conversation: ID, user: ID, seq: Int64)

        /// The profile of a member of a conversation that somebody has joined.
        case openingProfile(conversation: ID, user: ID, object: ByteBuffer)

        /// Whether a user is online, for all in the conversations of `audience` who are shown presence.
        case presence(user: ID, audience: [ID], object: ByteBuffer)

        /// The presence of a member of a conversation that somebody has joined.
        case openingPresence(conversation: ID, user: ID, object: ByteBuffer)

        /// One of the newest messages of a conversation that somebody has joined, ascending.
        case openingMessage(conversation: ID, seq: Int64, object: ByteBuffer)
    }
}

/// A conversation as JSON text with a gap, for what each member has of its own.
struct ConversationObject: Sendable {
    /// Up to and including `"last_read_seq":`.
    let head: ByteBuffer

    /// From after what is the member's own on.
    let tail: ByteBuffer
    let lastSeq: Int64
    let marks: [ID: Int64]

    /// Of those who have muted it until when, in microseconds since 1970.
    let mutedUntil: [ID: Int64]

    /// The whole object, as that member sees it; nil for who is none.
    func object(for member: ID) -> ByteBuffer? {
        guard let mark = marks[member] else { return nil }
        var object = head
        let until = mutedUntil[member].map { "\"\(Timestamp.text(microseconds: $0))\"" } ?? "null"
        object.writeString(#"\#(mark),"unread_count":\#(max(0, lastSeq - mark)),"muted_until":\#(until)"#)
        object.writeImmutableBuffer(tail)
        return object
    }
}

/// What one look of the feed saw.
struct ChangeBatch: Sendable {
    let snapshot: Snapshot

    /// The cursor of a client that has all of it.
    let cursor: String

    /// Memberships first.
    let changes: [Change]

    /// Whom it concerns in more than it tells: they fall behind, and ask for it by `sync.open`.
    var affectedUsers = AffectedUsers.nobody

    /// About how much memory it holds, in bytes.
    var heldBytes: Int { changes.reduce(0) { $0 + $1.fact.object.readableBytes } }

    /// The same with nothing told.
    var withoutChanges: ChangeBatch {
        ChangeBatch(snapshot: snapshot, cursor: cursor, changes: [], affectedUsers: .everybody)
    }

    enum AffectedUsers: Sendable {
        case nobody
        case users(Set<ID>)
        case everybody

        func includes(_ user: ID) -> Bool {
            switch self {
            case .nobody: false
            case .users(let users): users.contains(user)
            case .everybody: true
            }
        }
    }
}
