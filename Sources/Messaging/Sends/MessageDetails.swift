import WireProtocol

/// Reply, mentions and data of a message, as PostgreSQL text.
struct MessageDetails: Sendable {
    var replyTo: String?

    /// An array literal.
    var mentions: String?
    var mentionsEveryone = false

    /// JSON.
    var data: String?

    /// The last parameters of `api.send_message`.
    var parameters: [String?] { [replyTo, mentions, String(mentionsEveryone), data] }

    init() {}

    init(_ params: Params) {
        replyTo = params.digits("reply_to_seq")
        mentions = params.count("mentions") > 0 ? params.uuids("mentions") : nil
        mentionsEveryone = params.bool("mentions_everyone")
        data = params.object("data")?.text
    }
}
