/// The part of a conversation that a chat shows.
enum ChatWindow: Sendable, Hashable {
    /// The newest messages: at most `limit` of the server's, and all unsent ones.
    case newest(limit: Int)
    /// A message by its number, with at most `older` messages before it and `newer` after it.
    case around(seq: Int, older: Int, newer: Int)

    /// The number of messages that a page adds.
    static let page = 50

    /// A direction in which a chat grows.
    enum Direction: Sendable, Hashable {
        case older, newer
    }

    /// Returns the window with another page. If it then had more messages than allowed, it loses those at its other end.
    ///
    /// - Parameters:
    ///   - shown: The numbers of the shown messages, or nil if there are none.
    ///   - limit: The number of messages that the window may have, at least two pages.
    func extended(_ direction: Direction, showing shown: ClosedRange<Int>?, limit: Int) -> ChatWindow {
        let limit = max(limit, 2 * Self.page)
        if let shown, shown.count > limit - Self.page, canExtend(direction) {
            let others = limit - Self.page - 1
            return direction == .older
                ? .around(seq: shown.lowerBound, older: Self.page, newer: others)
                : .around(seq: shown.upperBound, older: others, newer: Self.page)
        }
        return switch (self, direction) {
        case (.newest(let limit), .older): .newest(limit: limit + Self.page)
        case (.newest, .newer): self
        case (.around(let seq, let older, let newer), .older): .around(seq: seq, older: older + Self.page, newer: newer)
        case (.around(let seq, let older, let newer), .newer): .around(seq: seq, older: older, newer: newer + Self.page)
        }
    }

    /// False for the direction in which a window follows the newest messages.
    private func canExtend(_ direction: Direction) -> Bool {
        if case .newest = self { direction == .older } else { true }
    }
}

/// A page of a conversation that the store does not have, and the server does.
struct MissingPage: Sendable, Hashable {
    /// The direction in which the page extends the stored messages.
    var direction: ChatWindow.Direction
    /// The number before or after which the page begins, or nil for the newest messages.
    var bound: Int?
    /// The number of messages.
    var limit: Int

    /// Returns the params of `messages.list`.
    func params(_ conversationID: Conversation.ID) -> [String: JSONValue] {
        // The server accepts at most 200.
        var params: [String: JSONValue] = [
            "conversation_id": .id(conversationID), "limit": .integer(min(limit, 200)),
        ]
        if let bound { params[direction == .older ? "before_seq" : "after_seq"] = .integer(bound) }
        return params
    }
}

/// The content of a window.
struct ChatContent: Sendable {
    /// The window to show from now on. It follows the newest messages once they are in it.
    var window: ChatWindow
    var messages: [Message] = []
    var hasOlder = false
    var hasNewer = false
}
