public import Foundation

/// A change that the user made on this device and that the server refused.
public struct RefusedChange: Sendable, Hashable, Identifiable {
    /// The number to pass to ``PostlineClient/retryChange(_:)`` and
    /// ``PostlineClient/discardChange(_:)``.
    public let id: Int64
    /// The kind of the change.
    public let kind: Kind
    /// The conversation of the change, or nil for the user's own data.
    public let conversationID: Conversation.ID?
    /// The text of the message, or the emoji of the reaction.
    public let content: String?
    /// The refused values of the user's own data, by the protocol's names (`full_name`). Empty for other kinds.
    public let fields: [String: JSONValue]
    /// The server's error.
    public let error: PostlineError
    /// The time at which the user made the change.
    public let createdAt: Date

    /// The kind of a refused change.
    public enum Kind: Sendable, Hashable {
        /// A message, an edit or a deletion of a message, a reaction, a message that is pinned or no longer, a read mark,
        /// what the user alone sees of a conversation, or an edit of the user's own data.
        case message, edit, deletion, reaction, pin, readMark, settings, profile
    }
}

extension RefusedChange {
    init?(_ change: QueuedChange) {
        guard let refusal = change.refusal else { return nil }
        let kind: Kind =
            switch change.method {
            case .send, .sendFiles: .message
            case .edit: .edit
            case .delete: .deletion
            case .react: .reaction
            case .pin: .pin
            case .set: .settings
            case .markRead: .readMark
            case .save, .fill: .profile
            }
        self.init(
            id: change.id, kind: kind, conversationID: change.conversationID, content: change.content ?? change.emoji,
            fields: kind == .profile ? change.params : [:], error: refusal, createdAt: change.createdAt)
    }
}
