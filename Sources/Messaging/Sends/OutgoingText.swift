/// A text that a user sends to a conversation: what is sent together with others, or alone.
struct OutgoingText: Sendable {
    /// As whom it is sent alone.
    let caller: Caller
    let sender: ID
    let conversation: ID

    /// Without NUL.
    let content: String
    let clientID: String?

    /// What `api.send_message` takes.
    var parameters: [String?] { ["\(conversation)", content, clientID, "text", nil] }
}

extension Array where Element == OutgoingText {
    /// What `app.send_messages` takes: each column of the texts as PostgreSQL's text of an array.
    var parameters: [String?] {
        [
            "{\(map(\.sender.description).joined(separator: ","))}",
            "{\(map(\.conversation.description).joined(separator: ","))}",
            map(\.content).arrayLiteral,
            "{\(map { $0.clientID ?? "null" }.joined(separator: ","))}",
        ]
    }
}
