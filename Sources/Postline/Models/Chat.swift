public import Foundation
public import Observation

/// The messages of one conversation as a view shows them: a part without a gap, at first the newest.
@MainActor @Observable
public final class Chat: Identifiable {
    /// The conversation's id. It never changes.
    public nonisolated let conversationID: Conversation.ID

    /// The conversation with its members' profiles, or nil if the user is not a member.
    public internal(set) var conversation: Conversation?

    /// The server's messages by number without a gap. The unsent messages follow if the newest message is shown.
    public internal(set) var messages: [Message] = []

    /// True if the device or the server has messages before the first shown one.
    public internal(set) var hasOlder = false

    /// True if the device or the server has messages after the last shown one, as after ``jump(toSeq:)``.
    public internal(set) var hasNewer = false

    /// The state of the first read from the device, and then of the last jump.
    public internal(set) var loadingState = LoadingState.loading

    /// The state of the page before the first shown message.
    public internal(set) var olderState = LoadingState.idle

    /// The state of the page after the last shown message.
    public internal(set) var newerState = LoadingState.idle

    /// The number of the first message that was unread when the chat opened, or nil if none was. It stays while the app
    /// holds the chat, until ``resetFirstUnread()``.
    ///
    /// If the chat opens before the client is live, messages that the client then fetches count too.
    public internal(set) var firstUnreadSeq: Int?

    /// The number of messages that the chat shows at most, apart from unsent ones: 1,000. At least 100.
    ///
    /// A page beyond it removes the messages at the other end, which ``loadNewer()`` or ``loadOlder()`` shows again.
    @ObservationIgnored public var maxMessages = 1_000

    /// The part of the conversation to show.
    @ObservationIgnored var window = ChatWindow.newest(limit: ChatWindow.page)

    /// The number of jumps. A page that was requested before the last one is not shown.
    @ObservationIgnored var jumpCount = 0

    /// The window of a failed jump, for ``retry()``.
    @ObservationIgnored var failedJump: ChatWindow?

    /// True if the messages of the store have been read.
    @ObservationIgnored var isRead = false

    /// True if later unread messages no longer set ``firstUnreadSeq``.
    @ObservationIgnored var isFirstUnreadFixed = false

    /// The draft that was set last. The store may not have it yet.
    @ObservationIgnored private var lastDraft: String?

    @ObservationIgnored let client: PostlineClient

    /// True once the account has signed out. Another one may be signed in since.
    @ObservationIgnored var hasEnded = false

    /// Returns the client, for calls as the account of this chat.
    ///
    /// - Throws: ``PostlineError``, `signed_out`.
    func currentClient() throws(PostlineError) -> PostlineClient {
        if hasEnded {
            throw PostlineError(.signedOut, "The account of this chat is signed out: ask for the chat again.")
        }
        return client
    }

    /// The conversation's id, the same as ``conversationID``.
    public nonisolated var id: Conversation.ID { conversationID }

    init(_ conversation: Conversation?, id: Conversation.ID, client: PostlineClient) {
        conversationID = id
        self.conversation = conversation
        self.client = client
    }

    /// The other members who are typing, in the order in which they began.
    public var typingUsers: [User] {
        client.typingUserIDs[conversationID]?.compactMap { id in conversation?.users.first { $0.id == id } } ?? []
    }

    /// The text that the user typed and has not sent.
    public var draft: String { conversation?.draft ?? "" }

    /// Stores the text that the user typed and has not sent, on this device only. An empty text removes the draft. The
    /// other members see that the user is typing, or has stopped.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func setDraft(_ content: String) async throws(PostlineError) {
        let id = conversationID
        // Not durable: this runs with each key, and must not wait for the disk. A draft that is set again when a chat
        // opens is not typing.
        let isEdited = content != (lastDraft ?? draft)
        lastDraft = content
        try await currentClient().write(isDurable: false) { try $0.setDraft(content, in: id) }
        if isEdited { await client.setTyping(!content.isEmpty, in: id) }
    }

    /// Sends a message in this conversation, and shows the newest messages. See
    /// ``PostlineClient/send(_:in:attachments:details:)``.
    ///
    /// - Returns: The message's id.
    /// - Throws: ``PostlineError``: `not_found`, `signed_out`, `store_unusable`.
    @discardableResult
    public func send(
        _ content: String, attachments: [Message.Attachment] = [], details: MessageDetails = MessageDetails()
    ) async throws(PostlineError) -> Message.ID {
        lastDraft = ""
        let id = try await currentClient().send(content, in: conversationID, attachments: attachments, details: details)
        if hasNewer { await jumpToNewest() }
        return id
    }

    /// Sends 1 to 10 files of any kind as one message in this conversation, and shows the newest messages. See
    /// ``PostlineClient/send(attachments:text:in:details:)``.
    ///
    /// - Returns: The message's id.
    /// - Throws: ``PostlineError``: `invalid_params`, `outbox_full`, `not_sent`, `signed_out`, `store_unusable`.
    @discardableResult
    public func send(
        attachments: [OutgoingAttachment], text: String = "", details: MessageDetails = MessageDetails()
    ) async throws(PostlineError) -> Message.ID {
        lastDraft = ""
        let id = try await currentClient().send(
            attachments: attachments, text: text, in: conversationID, details: details)
        if hasNewer { await jumpToNewest() }
        return id
    }

    /// Sends a picture in this conversation. See
    /// ``PostlineClient/send(picture:text:in:width:height:blurhash:details:)``.
    ///
    /// - Returns: The message's id.
    /// - Throws: ``PostlineError``: `invalid_params`, `outbox_full`, `not_found`, `signed_out`, `store_unusable`.
    @discardableResult
    public func send(
        picture: Data, text: String = "", width: Int? = nil, height: Int? = nil, blurhash: String? = nil,
        details: MessageDetails = MessageDetails()
    ) async throws(PostlineError) -> Message.ID {
        lastDraft = ""
        return try await currentClient().send(
            picture: picture, text: text, in: conversationID, width: width, height: height, blurhash: blurhash,
            details: details)
    }

    /// Returns a message by its number. See ``PostlineClient/message(numbered:in:)``.
    ///
    /// - Throws: ``PostlineError``: `not_found`, `offline`, `signed_out`, `store_unusable`.
    public func message(numbered seq: Int) async throws(PostlineError) -> Message {
        try await currentClient().message(numbered: seq, in: conversationID)
    }

    /// Marks the whole conversation as read. See ``PostlineClient/markRead(_:)``.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func markRead() async throws(PostlineError) { try await currentClient().markRead(conversationID) }

    /// Marks the conversation as read up to a message, such as the lowest one on the screen. A mark never goes back.
    ///
    /// - Throws: ``PostlineError``: `signed_out`, `store_unusable`.
    public func markRead(upTo message: Message) async throws(PostlineError) {
        try await currentClient().markRead(upTo: message)
    }

    /// Renames the group. See ``PostlineClient/renameGroup(_:to:)``.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`, `invalid_params`.
    public func rename(to title: String) async throws(PostlineError) {
        try await currentClient().renameGroup(conversationID, to: title)
    }

    /// Adds users to the group. See ``PostlineClient/addMembers(_:to:)``.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`, `invalid_params`.
    public func addMembers(_ userIDs: [User.ID]) async throws(PostlineError) {
        try await currentClient().addMembers(userIDs, to: conversationID)
    }

    /// Removes a member from the group. See ``PostlineClient/removeMember(_:from:)``.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`.
    public func removeMember(_ userID: User.ID) async throws(PostlineError) {
        try await currentClient().removeMember(userID, from: conversationID)
    }

    /// Changes the role of a member of the group. See ``PostlineClient/setRole(_:of:in:)``.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`.
    public func setRole(_ role: MemberRole, of userID: User.ID) async throws(PostlineError) {
        try await currentClient().setRole(role, of: userID, in: conversationID)
    }

    /// Leaves the group and removes it from this device. See ``PostlineClient/leaveGroup(_:)``.
    ///
    /// - Throws: ``PostlineError``: `offline`, `forbidden`, `not_found`, `signed_out`.
    public func leave() async throws(PostlineError) { try await currentClient().leaveGroup(conversationID) }

    /// Mutes the conversation. See ``PostlineClient/mute(_:until:)``.
    ///
    /// - Throws: ``PostlineError``: `offline`, `not_found`.
    public func mute(until end: Date? = nil) async throws(PostlineError) {
        try await currentClient().mute(conversationID, until: end)
    }

    /// Ends the mute of the conversation.
    ///
    /// - Throws: ``PostlineError``: `offline`, `not_found`.
    public func unmute() async throws(PostlineError) { try await currentClient().unmute(conversationID) }
}
