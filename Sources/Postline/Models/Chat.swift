public import Foundation
public import Observation

/// The messages of one conversation as a view shows them: the newest, and older ones on demand.
@MainActor @Observable
public final class Chat: Identifiable {
    /// The conversation's id. It never changes.
    public nonisolated let conversationID: Conversation.ID

    /// The conversation with its members' profiles, or nil if the user is not a member.
    public private(set) var conversation: Conversation?

    /// The server's messages by number without a gap, followed by unsent ones.
    public private(set) var messages: [Message] = []

    /// True if the device or the server has older messages.
    public private(set) var hasOlder = false

    /// The number of the server's messages that are shown.
    @ObservationIgnored private(set) var limit = Chat.page

    /// The draft that was set last. The store may not have it yet.
    @ObservationIgnored private var lastDraft: String?

    @ObservationIgnored private let client: PostlineClient

    private static let page = 50

    /// The conversation's id, the same as ``conversationID``.
    public nonisolated var id: Conversation.ID { conversationID }

    init(conversationID: Conversation.ID, client: PostlineClient) {
        self.conversationID = conversationID
        self.client = client
    }

    func show(_ messages: [Message], hasOlder: Bool, in conversation: Conversation?) {
        if self.messages != messages { self.messages = messages }
        if self.hasOlder != hasOlder { self.hasOlder = hasOlder }
        if self.conversation != conversation { self.conversation = conversation }
    }

    /// The other members who are typing, in the order in which they began.
    public var typingUsers: [User] {
        client.typingUserIDs[conversationID]?.compactMap { id in conversation?.people.first { $0.id == id } } ?? []
    }

    /// The text that the user typed and has not sent.
    public var draft: String { conversation?.draft ?? "" }

    /// Stores the text that the user typed and has not sent, on this device only. An empty text removes the draft. The
    /// other members see that the user is typing, or has stopped.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func setDraft(_ content: String) async throws {
        let id = conversationID
        // Not durable: this runs with each key, and must not wait for the disk. A draft that is set again when a chat
        // opens is not typing.
        let isEdited = content != (lastDraft ?? draft)
        lastDraft = content
        try await client.write(isDurable: false) { try $0.setDraft(content, in: id) }
        if isEdited { await client.setTyping(!content.isEmpty, in: id) }
    }

    /// Sends a message in this conversation. See ``PostlineClient/send(_:in:attachment:)``.
    ///
    /// - Returns: The message's id.
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    @discardableResult
    public func send(_ content: String, attachment: Message.Attachment? = nil) async throws -> Message.ID {
        lastDraft = ""
        return try await client.send(content, in: conversationID, attachment: attachment)
    }

    /// Sends a picture in this conversation. See ``PostlineClient/send(picture:text:in:width:height:blurhash:)``.
    ///
    /// - Returns: The message's id.
    /// - Throws: ``PostlineError``: `invalid_params`, `outbox_full`, `signed_out`, `store_unusable`.
    @discardableResult
    public func send(
        picture: Data, text: String = "", width: Int? = nil, height: Int? = nil, blurhash: String? = nil
    ) async throws -> Message.ID {
        lastDraft = ""
        return try await client.send(
            picture: picture, text: text, in: conversationID, width: width, height: height, blurhash: blurhash)
    }

    /// Marks the whole conversation as read. See ``PostlineClient/markRead(_:)``.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func markRead() async throws { try await client.markRead(conversationID) }

    /// Marks the conversation as read up to a message, such as the lowest one on the screen. A mark never goes back.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func markRead(upTo message: Message) async throws { try await client.markRead(upTo: message) }

    /// Renames the group. See ``PostlineClient/renameGroup(_:to:)``.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`, `invalid_params`.
    public func rename(to title: String) async throws { try await client.renameGroup(conversationID, to: title) }

    /// Adds users to the group. See ``PostlineClient/addMembers(_:to:)``.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`, `invalid_params`.
    public func addMembers(_ userIDs: [User.ID]) async throws {
        try await client.addMembers(userIDs, to: conversationID)
    }

    /// Removes a member from the group. See ``PostlineClient/removeMember(_:from:)``.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`.
    public func removeMember(_ userID: User.ID) async throws {
        try await client.removeMember(userID, from: conversationID)
    }

    /// Changes the role of a member of the group. See ``PostlineClient/setRole(_:of:in:)``.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`.
    public func setRole(_ role: MemberRole, of userID: User.ID) async throws {
        try await client.setRole(role, of: userID, in: conversationID)
    }

    /// Leaves the group and removes it from this device. See ``PostlineClient/leaveGroup(_:)``.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`, `signed_out`.
    public func leave() async throws { try await client.leaveGroup(conversationID) }

    /// Mutes the conversation. See ``PostlineClient/mute(_:until:)``.
    ///
    /// - Throws: ``PostlineError``: `offline`, `not_found`.
    public func mute(until end: Date? = nil) async throws { try await client.mute(conversationID, until: end) }

    /// Ends the mute of the conversation.
    ///
    /// - Throws: ``PostlineError``: `offline`, `not_found`.
    public func unmute() async throws { try await client.unmute(conversationID) }

    /// Shows 50 older messages, from the device or else from the server. Does nothing if there are none.
    ///
    /// - Throws: ``PostlineError``: `offline` if the device has no more and there is no connection.
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
                    "conversation_id": JSONValue.id(conversationID), "before_seq": .integer(oldest),
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
