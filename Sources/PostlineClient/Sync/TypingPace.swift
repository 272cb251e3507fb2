/// When the others are told of the user's typing: seldom enough to be passed on by the server, which drops what comes
/// within two seconds of the last (`docs/protocol.md`, `conversations.typing`), and soon enough not to expire.
struct TypingPace {
    /// What is told.
    struct Notice: Hashable {
        var conversationID: String
        var isTyping: Bool
    }

    private struct Place {
        var isTyping: Bool
        /// What the others were told last, and when.
        var told: Bool
        var toldAt: ContinuousClock.Instant
    }

    private var places: [String: Place] = [:]

    /// What the server takes two seconds for may be a little more here.
    static let leastInterval = Duration.milliseconds(2_100)
    /// After so long it is told again of who goes on. Whoever hears nothing for six seconds takes it for an end.
    static let repetition = Duration.seconds(3)

    mutating func note(_ isTyping: Bool, in conversationID: String, now: ContinuousClock.Instant) {
        guard var place = places[conversationID] else {
            if isTyping {
                places[conversationID] = Place(isTyping: true, told: false, toldAt: now - Self.leastInterval)
            }
            return
        }
        place.isTyping = isTyping
        if isTyping, now - place.toldAt >= Self.repetition { place.told = false }
        places[conversationID] = place
    }

    /// Who has sent something types no more, which needs not be said.
    mutating func noteSent(in conversationID: String) {
        places[conversationID]?.isTyping = false
        places[conversationID]?.told = false
    }

    /// Takes what may be told by now; and gives after how long something else may be, where there is something.
    mutating func take(now: ContinuousClock.Instant) -> (due: [Notice], next: Duration?) {
        var due: [Notice] = []
        var next: Duration?
        for (id, place) in places {
            let wait = place.toldAt + Self.leastInterval - now
            if place.isTyping == place.told {
                if !place.isTyping, wait <= .zero { places[id] = nil }
            } else if wait > .zero {
                next = min(next ?? wait, wait)
            } else {
                due.append(Notice(conversationID: id, isTyping: place.isTyping))
                places[id] = Place(isTyping: place.isTyping, told: place.isTyping, toldAt: now)
            }
        }
        return (due, next)
    }
}
