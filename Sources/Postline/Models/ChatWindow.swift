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

    /// Returns the window with another page.
    func extended(_ direction: Direction) -> ChatWindow {
        switch (self, direction) {
        case (.newest(let limit), .older): .newest(limit: limit + Self.page)
        case (.newest, .newer): self
        case (.around(let seq, let older, let newer), .older): .around(seq: seq, older: older + Self.page, newer: newer)
        case (.around(let seq, let older, let newer), .newer): .around(seq: seq, older: older, newer: newer + Self.page)
        }
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
