/// The parts of a new message besides its text and picture: the message to answer, mentions, and data of the app.
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
}
