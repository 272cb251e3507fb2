/// The rate limit of the user's typing notices. They must be at least two seconds apart, or the server drops them
/// (`docs/protocol.md`, `conversations.typing`), and frequent enough not to expire.
struct TypingThrottle {
    /// A typing notice to send.
    struct Notice: Hashable {
        var conversationID: Conversation.ID
        var isTyping: Bool
    }

    private struct Entry {
        var isTyping: Bool
        /// The value of the last notice, and its time.
        var lastSent: Bool
        var sentAt: ContinuousClock.Instant
    }

    private var entries: [Conversation.ID: Entry] = [:]

    /// The least time between notices: the server's two seconds and a margin.
    static let minimumInterval = Duration.milliseconds(2_100)
    /// The time after which a notice is repeated while the user types. Notices expire after six seconds.
    static let repeatInterval = Duration.seconds(3)

    mutating func setTyping(_ isTyping: Bool, in conversationID: Conversation.ID, now: ContinuousClock.Instant) {
        guard var entry = entries[conversationID] else {
            if isTyping {
                entries[conversationID] = Entry(isTyping: true, lastSent: false, sentAt: now - Self.minimumInterval)
            }
            return
        }
        entry.isTyping = isTyping
        if isTyping, now - entry.sentAt >= Self.repeatInterval { entry.lastSent = false }
        entries[conversationID] = entry
    }

    /// Ends the typing after a message. No notice is needed, since the message says it.
    mutating func messageSent(in conversationID: Conversation.ID) {
        entries[conversationID]?.isTyping = false
        entries[conversationID]?.lastSent = false
    }

    /// Returns the notices that are due, and the time until the next one, or nil if there is none.
    mutating func nextNotices(now: ContinuousClock.Instant) -> (due: [Notice], next: Duration?) {
        var due: [Notice] = []
        var next: Duration?
        for (id, entry) in entries {
            let wait = entry.sentAt + Self.minimumInterval - now
            if entry.isTyping == entry.lastSent {
                if !entry.isTyping, wait <= .zero { entries[id] = nil }
            } else if wait > .zero {
                next = min(next ?? wait, wait)
            } else {
                due.append(Notice(conversationID: id, isTyping: entry.isTyping))
                entries[id] = Entry(isTyping: entry.isTyping, lastSent: entry.isTyping, sentAt: now)
            }
        }
        return (due, next)
    }
}
