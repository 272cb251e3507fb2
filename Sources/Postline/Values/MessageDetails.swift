/// The parts of a new message besides its text and attachments: the message to answer, mentions, and data of the app.
///
///     try await chat.send("At noon, @bob?", details: MessageDetails(replyTo: message, mentions: [bob.id]))
public struct MessageDetails: Sendable, Hashable {
    /// The message to answer, one that the server has.
    public var replyTo: Message?
    /// The users to mention: at most 50 members. The server leaves out others.
    public var mentions: [User.ID]
    /// True to mention all members of a group. Only its owner and admins may.
    public var mentionsEveryone: Bool
    /// The app's own data, at most 4 KiB as JSON, which the server never looks into.
    public var data: [String: JSONValue]?
    /// True for a message of the app's own kind (``MessageKind/custom``). It needs ``data``, and its text may be empty.
    public var isCustom: Bool

    /// Creates details. All are optional.
    public init(
        replyTo: Message? = nil, mentions: [User.ID] = [], mentionsEveryone: Bool = false,
        data: [String: JSONValue]? = nil, isCustom: Bool = false
    ) {
        self.replyTo = replyTo
        self.mentions = mentions
        self.mentionsEveryone = mentionsEveryone
        self.data = data
        self.isCustom = isCustom
    }

    /// The params of `messages.send`, without those that are not set.
    ///
    /// - Throws: ``PostlineError``, `not_sent` if the server does not have the message to answer yet.
    func params() throws(PostlineError) -> [String: JSONValue] {
        var params: [String: JSONValue] = [:]
        if let replyTo {
            guard let seq = replyTo.seq else {
                throw PostlineError(.notSent, "The server does not have the message to answer yet.")
            }
            params["reply_to_seq"] = .integer(seq)
        }
        if !mentions.isEmpty { params["mentions"] = .array(mentions.map { .id($0) }) }
        if mentionsEveryone { params["mentions_everyone"] = true }
        if let data { params["data"] = .object(data) }
        if isCustom { params["kind"] = .string(MessageKind.custom.rawValue) }
        return params
    }
    /// The params of `messages.send`, without a client id.
    ///
    /// - Parameters:
    ///   - attachments: The attachments. Those that are not uploaded have neither an id nor a URL.
    ///   - mayBeEmpty: True for a text that pieces follow.
    /// - Throws: ``PostlineError``: `not_sent` if the server does not have the message to answer yet; `invalid_params`
    ///   for a text that is too long, or an empty one without attachments, and for more than 10 attachments.
    func params(
        _ content: String, in conversationID: Conversation.ID, attachments: [Message.Attachment],
        mayBeEmpty: Bool = false
    ) throws(PostlineError) -> [String: JSONValue] {
        try Self.check(content, mayBeEmpty: mayBeEmpty || isCustom || !attachments.isEmpty)
        var params = try params()
        params["conversation_id"] = .id(conversationID)
        guard let first = attachments.first else {
            params["content"] = .string(content)
            return params
        }
        try Self.checkCount(of: attachments)
        // Without a text the server takes the first name, for clients that do not know the kind.
        if !content.isEmpty { params["content"] = .string(content) }
        if !isCustom { params["kind"] = .string(first.kind.rawValue) }
        let objects = try convertingErrors { try attachments.map { try StoreJSON.convert($0) as JSONValue } }
        // All servers know a single attachment.
        if objects.count == 1 { params["attachment"] = objects[0] } else { params["attachments"] = .array(objects) }
        return params
    }

    /// Checks a text by the server's rule, so that the user can correct it before it is in the outbox.
    ///
    /// - Throws: ``PostlineError``, `invalid_params`.
    static func check(_ text: String, mayBeEmpty: Bool, field: String = "content") throws(PostlineError) {
        let count = text.unicodeScalars.count
        guard count <= 8_000 else {
            throw PostlineError(
                .invalidParams, "\"\(field)\" must have at most 8,000 characters (got \(count)): make it shorter.",
                field: field)
        }
        guard count > 0 || mayBeEmpty else {
            throw PostlineError(.invalidParams, "\"\(field)\" must not be empty.", field: field)
        }
    }

    /// - Throws: ``PostlineError``, `invalid_params`, for another number of attachments than a message may have.
    static func checkCount(of attachments: [some Any]) throws(PostlineError) {
        guard 1...10 ~= attachments.count else {
            throw PostlineError(
                .invalidParams,
                "\"attachments\" must have 1 to 10 files (got \(attachments.count)): send the others in more messages.",
                field: "attachments")
        }
    }
}

extension [String: JSONValue] {
    /// The params of a new message without the URLs of uploaded files, which the server knows.
    var withoutUploadedURLs: Self {
        func stripped(_ attachment: JSONValue) -> JSONValue {
            guard case .object(var members) = attachment, case .string? = members["media_id"] else { return attachment }
            members["url"] = nil
            return .object(members)
        }
        var params = self
        params["attachment"] = params["attachment"].map(stripped)
        if case .array(let attachments)? = params["attachments"] {
            params["attachments"] = .array(attachments.map(stripped))
        }
        return params
    }
}
