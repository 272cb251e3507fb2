public import Foundation

/// What was written on this device and refused by the server.
public struct RefusedChange: Sendable, Hashable, Identifiable {
    /// For ``PostlineClient/PostlineClient/retryChange(_:)`` and ``PostlineClient/PostlineClient/discardChange(_:)``.
    public let id: Int64
    /// What it was to do.
    public let kind: Kind
    /// The conversation that it is about; nil for the user's own data.
    public let conversationID: String?
    /// The text that was to be written.
    public let content: String?
    /// What was to be saved of the user's own data, by the protocol's names (`full_name`); empty of anything else.
    public let fields: [String: JSONValue]
    /// Why, in the server's words.
    public let error: PostlineError
    /// When it was written.
    public let createdAt: Date

    /// What it was.
    public enum Kind: Sendable, Hashable {
        /// A message that was to be sent, an edit or a deletion of one, a mark of how far the user has read, or an edit of the
        /// user's own data.
        case message, edit, deletion, readMark, profile
    }
}

extension RefusedChange {
    init?(_ change: QueuedChange) {
        guard let refusal = change.refusal else { return nil }
        let kind: Kind =
            switch change.method {
            case .send: .message
            case .edit: .edit
            case .delete: .deletion
            case .markRead: .readMark
            case .save, .fill: .profile
            }
        self.init(
            id: change.id, kind: kind, conversationID: change.conversationID, content: change.content,
            fields: kind == .profile ? change.params : [:], error: refusal, createdAt: change.createdAt)
    }
}
