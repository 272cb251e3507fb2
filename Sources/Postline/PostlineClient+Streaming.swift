/// Messages that grow while they are written, such as answers that are being generated.
extension PostlineClient {
    /// Sends a message that is continued in pieces. All members see its text grow (``Message/isStreaming``).
    ///
    ///     let stream = try await client.stream(in: id)
    ///     for await piece in answer { try await stream.append(piece) }
    ///     try await stream.finish()
    ///
    /// The server finishes a message that nobody continues for 60 s, and deletes one without a text. A user can have 20
    /// at the same time.
    ///
    /// - Parameters:
    ///   - conversationID: The conversation's id.
    ///   - content: The first text, at most 8,000 characters.
    ///   - details: The message to answer, mentions, and data of the app.
    /// - Throws: ``PostlineError``: `offline`, `not_found`, `forbidden`, `invalid_params`, `not_sent` if the server does
    ///   not have the message to answer yet; `signed_out`, `store_unusable`.
    public func stream(
        in conversationID: Conversation.ID, _ content: String = "", details: MessageDetails = MessageDetails()
    ) async throws(PostlineError) -> MessageStream {
        let engine = try currentEngine()
        var params = try details.params(content, in: conversationID, attachments: [], mayBeEmpty: true)
        params["is_streaming"] = true
        let message = try await engine.call("messages.send", params, as: WireMessage.self)
        var changes = Changes()
        changes.messages = [message]
        changes.pieces = [
            WirePiece(conversationID: conversationID, seq: message.seq, start: 0, content: content)
        ]
        try await apply(changes, from: engine)
        return MessageStream(self, conversationID, message.seq, length: content.unicodeScalars.count)
    }
}

/// A message that this client continues in pieces.
@MainActor
public final class MessageStream {
    /// The conversation of the message.
    public let conversationID: Conversation.ID

    /// The number of the message in its conversation.
    public let seq: Int

    /// The number of characters (code points) that the server has.
    public private(set) var length: Int

    private let client: PostlineClient
    private var isAppending = false

    init(_ client: PostlineClient, _ conversationID: Conversation.ID, _ seq: Int, length: Int) {
        self.client = client
        self.conversationID = conversationID
        self.seq = seq
        self.length = length
    }

    /// Appends text. When it returns, the server has the text. After `offline` or `timeout`, the same text can be
    /// appended again: it is stored once.
    ///
    /// - Throws: ``PostlineError``: `invalid_request` while another call is in progress; `invalid_params` beyond 8,000
    ///   characters in all; `forbidden` if the message is finished or deleted; `offline`, `timeout`, `not_found`,
    ///   `signed_out`.
    public func append(_ text: String) async throws(PostlineError) {
        if text.isEmpty { return }
        guard !isAppending else { throw PostlineError(.invalidRequest, "The text before is still being appended.") }
        isAppending = true
        defer { isAppending = false }
        let answer = try await client.call(
            "messages.append",
            [
                "conversation_id": .id(conversationID), "seq": .integer(seq), "start": .integer(length),
                "content": .string(text),
            ], as: Appended.self)
        length = answer.length
    }

    private struct Appended: Decodable, Sendable {
        let length: Int
    }

    /// Finishes the message, which all members then have as any other. Does nothing if it is finished.
    ///
    /// - Throws: ``PostlineError``: `forbidden` if it has no text; `offline`, `timeout`, `not_found`, `signed_out`,
    ///   `store_unusable`.
    public func finish() async throws(PostlineError) {
        let engine = try client.currentEngine()
        var changes = Changes()
        changes.messages = [
            try await engine.call(
                "messages.finish", ["conversation_id": JSONValue.id(conversationID), "seq": .integer(seq)],
                as: WireMessage.self)
        ]
        try await client.apply(changes, from: engine)
    }
}
