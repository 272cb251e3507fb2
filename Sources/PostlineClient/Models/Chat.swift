public import Observation

/// The messages of one conversation, as they are on the screen: the newest, and older ones on demand.
@MainActor @Observable
public final class Chat: Identifiable {
    /// The id of the conversation, by which it stays.
    public nonisolated let conversationID: String

    /// The conversation with its people; nil where the user is not in it.
    public private(set) var conversation: Conversation?

    /// What the server has, by its number, and after it what is on its way, without a gap.
    public private(set) var messages: [Message] = []

    /// Whether there are older ones, on the device or at the server.
    public private(set) var hasOlder = false

    /// How many messages of the server's are shown.
    @ObservationIgnored private(set) var limit = Chat.page

    /// The draft that was set last, which may not be stored yet.
    @ObservationIgnored private var typed: String?

    @ObservationIgnored private let client: PostlineClient

    private static let page = 50

    /// The same as ``conversationID``.
    public nonisolated var id: String { conversationID }

    init(conversationID: String, client: PostlineClient) {
        self.conversationID = conversationID
        self.client = client
    }

    func show(_ messages: [Message], hasOlder: Bool, in conversation: Conversation?) {
        if self.messages != messages { self.messages = messages }
        if self.hasOlder != hasOlder { self.hasOlder = hasOlder }
        if self.conversation != conversation { self.conversation = conversation }
    }

    /// Who else is just typing here, who began first stands first.
    public var typingUsers: [Profile] {
        client.typingUserIDs[conversationID]?.compactMap { id in conversation?.people.first { $0.id == id } } ?? []
    }

    /// What was typed and not sent.
    public var draft: String { conversation?.draft ?? "" }

    /// Keeps what was typed and not sent, on this device alone; an empty one is none. The others are told that the user
    /// types, or does not any more.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func setDraft(_ content: String) async throws {
        let id = conversationID
        // Written with each key: no disk is waited for.
        // Who opens a chat with what was typed yesterday does not type.
        let isTyped = content != (typed ?? draft)
        typed = content
        try await client.write(isDurable: false) { try $0.setDraft(content, in: id) }
        if isTyped { await client.setTyping(!content.isEmpty, in: id) }
    }

    /// Sends a message here, as ``PostlineClient/PostlineClient/send(_:in:attachment:)`` does.
    ///
    /// - Returns: the message's id.
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    @discardableResult
    public func send(_ content: String, attachment: Message.Attachment? = nil) async throws -> String {
        typed = ""
        return try await client.send(content, in: conversationID, attachment: attachment)
    }

    /// Notes that all that is here has been read, as ``PostlineClient/PostlineClient/markRead(_:)`` does.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func markRead() async throws { try await client.markRead(conversationID) }

    /// Notes that the user has read up to a message, such as the last one on the screen. A mark never goes back.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func markRead(upTo message: Message) async throws { try await client.markRead(upTo: message) }

    /// Shows 50 more messages of the past: what the device has, else what the server has. Without older ones it does
    /// nothing.
    ///
    /// - Throws: ``PostlineError``: `offline` where the device has no more and there is no connection.
    public func loadOlder() async throws {
        guard hasOlder else { return }
        let shown = messages.count { $0.seq != nil }
        if shown < limit, let oldest = messages.first?.seq {
            struct Page: Decodable, Sendable {
                var messages: [WireMessage]
            }
            var changes = Changes()
            let engine = try client.currentEngine()
            changes.messages = try await engine.call(
                "messages.list",
                [
                    "conversation_id": JSONValue.string(conversationID), "before_seq": .integer(oldest),
                    "limit": .integer(Self.page),
                ], as: Page.self
            ).messages
            limit += Self.page
            return try await client.apply(changes, from: engine)
        }
        limit += Self.page
        await client.reload()
    }
}
