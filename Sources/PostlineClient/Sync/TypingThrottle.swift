/// When the others are told of the user's typing: seldom enough to be passed on by the server, which drops what comes
/// within two seconds of the last (`docs/protocol.md`, `conversations.typing`), and soon enough not to expire.
struct TypingThrottle {
    /// What is told.
    struct Notice: Hashable {
        var conversationID: String
        var isTyping: Bool
    }

    private struct Entry {
        var isTyping: Bool
        /// What the others were told last, and when.
        var lastSent: Bool
        var sentAt: ContinuousClock.Instant
    }

    private var entries: [String: Entry] = [:]

    /// What the server takes two seconds for may be a little more here.
    static let minimumInterval = Duration.milliseconds(2_100)
    /// After so long it is told again of who goes on. Whoever hears nothing for six seconds takes it for an end.
    static let repeatInterval = Duration.seconds(3)

    mutating func setTyping(_ isTyping: Bool, in conversationID: String, now: ContinuousClock.Instant) {
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

    /// Who has sent something types no more, which needs not be said.
    mutating func messageSent(in conversationID: String) {
        entries[conversationID]?.isTyping = false
        entries[conversationID]?.lastSent = false
    }

    /// Takes what may be told by now; and gives after how long something else may be, where there is something.
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
