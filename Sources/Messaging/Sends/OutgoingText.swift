import DatabaseAccess
import Foundations

/// A text that a user sends to a conversation, in a batch or individually.
struct OutgoingText: Sendable {
    /// The database role and claims for sending it individually.
    let caller: Caller
    let sender: ID
    let conversation: ID

    /// The content, without NUL.
    let content: String
    let clientID: String?
    var details = MessageDetails()

    /// The size of content and data.
    var byteCount: Int { content.utf8.count + (details.data?.utf8.count ?? 0) }

    /// The parameters of `api.send_message`.
    var parameters: [String?] { ["\(conversation)", content, clientID, "text", nil] + details.parameters }
}

extension Array where Element == OutgoingText {
    /// The parameters of `app.send_messages`: each column of the texts as a PostgreSQL array literal.
    var parameters: [String?] {
        [
            plainArrayLiteral { $0.sender }, plainArrayLiteral { $0.conversation }, map(\.content).arrayLiteral,
            plainArrayLiteral { $0.clientID },
            literal(\.details.replyTo), literal(\.details.mentions),
            literal { $0.details.mentionsEveryone ? "true" : nil }, literal(\.details.data),
        ]
    }

    /// Returns the column as an array literal, or nil if no text has a value.
    private func literal(_ value: (OutgoingText) -> String?) -> String? {
        guard contains(where: { value($0) != nil }) else { return nil }
        return "{\(map { value($0)?.arrayElement ?? "NULL" }.joined(separator: ","))}"
    }
}
