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

    /// The parameters of `api.send_message`.
    var parameters: [String?] { ["\(conversation)", content, clientID, "text", nil] }
}

extension Array where Element == OutgoingText {
    /// The parameters of `app.send_messages`: each column of the texts as a PostgreSQL array literal.
    var parameters: [String?] {
        [
            plainArrayLiteral { $0.sender }, plainArrayLiteral { $0.conversation }, map(\.content).arrayLiteral,
            plainArrayLiteral { $0.clientID },
        ]
    }
}
