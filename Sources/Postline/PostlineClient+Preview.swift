import Foundation
import Logging

/// Clients for previews and for tests of views.
extension PostlineClient {
    /// Returns a client that shows this data and has no server, for SwiftUI previews and for tests of views.
    ///
    /// An example is `#Preview { ConversationsView(client: .preview(me: alice, conversations: [hike])) }`.
    ///
    /// Messages and edits of the user are shown and stay pending. Calls that need the server throw `offline`. The data is
    /// deleted with the client.
    ///
    /// - Parameters:
    ///   - me: The signed-in user.
    ///   - conversations: The conversations, with the profiles of all members.
    ///   - messages: The messages of all conversations. One without ``Message/seq`` is pending.
    ///   - blockedUserIDs: The users whom the user blocks.
    /// - Precondition: The folder for temporary files can be written.
    public static func preview(
        me: User, conversations: [Conversation] = [], messages: [Message] = [], blockedUserIDs: [User.ID] = []
    ) -> PostlineClient {
        do {
            return try makePreview(me, conversations, messages, blockedUserIDs)
        } catch {
            // A preview has no view for this, and its author no other way to learn of it.
            preconditionFailure("The preview's data cannot be stored: \(error)")
        }
    }

    private static func makePreview(
        _ user: User, _ conversations: [Conversation], _ messages: [Message], _ blockedUserIDs: [User.ID]
    ) throws -> PostlineClient {
        let location = StoreLocation.temporary
        let client = try PostlineClient(
            server: .line("localhost"), store: location, secrets: FileSecretStore(folder: location.folder),
            connector: Platform.connector(authorities: nil), legacyData: nil,
            logger: Logger(label: "postline.preview") { _ in SwiftLogNoOpLogHandler() })
        var changes = Changes()
        changes.cursor = "preview"
        changes.me = Me(user)
        changes.blocked = blockedUserIDs
        changes.profiles = conversations.flatMap(\.users)
        changes.messages = messages.compactMap(WireMessage.init)
        changes.reactions = messages.compactMap(WireReactions.init)
        changes.conversations = conversations.map { conversation in
            WireConversation(
                conversation,
                newest: changes.messages.filter { $0.conversationID == conversation.id }.max {
                    $0.seq < $1.seq
                })
        }
        let store = try Store(folder: location.folder, userID: user.id)
        try store.writeNow { writer in
            try writer.apply(changes)
            for message in messages where message.seq == nil {
                try writer.enqueue(
                    .send, queueKey: message.conversationID.rawValue,
                    [
                        "conversation_id": .id(message.conversationID), "client_id": .id(message.id),
                        "content": message.content.map { .string($0) } ?? .null,
                    ], clientID: message.id.rawValue)
            }
        }
        client.store = store
        client.account = user.isGuest ? .guest(id: user.id) : .user(id: user.id)
        client.state = .live
        client.show(try client.snapshot(of: store))
        return client
    }
}

extension WireMessage {
    /// Nil for a message that the server does not have.
    fileprivate init?(_ message: Message) {
        guard let seq = message.seq else { return nil }
        self.init(
            id: message.id.rawValue, conversationID: message.conversationID, seq: seq, senderID: message.senderID,
            kind: message.kind, content: message.content, attachments: message.attachments, event: message.event,
            version: 1, createdAt: message.createdAt, editedAt: message.editedAt, deletedAt: message.deletedAt,
            replyTo: message.replyTo, mentions: message.mentions, mentionsEveryone: message.mentionsEveryone,
            data: message.data)
    }
}

extension WireReactions {
    /// Nil for a message without reactions.
    fileprivate init?(_ message: Message) {
        guard let seq = message.seq, !message.reactions.isEmpty else { return nil }
        self.init(
            conversationID: message.conversationID, seq: seq, version: 1,
            counts: Dictionary(message.reactions.map { ($0.emoji, $0.count) }) { $1 },
            own: message.reactions.filter(\.isMine).map(\.emoji))
    }
}

extension WireConversation {
    /// - Parameter newest: The newest message, if the conversation does not say it itself.
    fileprivate init(_ conversation: Conversation, newest: WireMessage?) {
        self.init(
            id: conversation.id, kind: conversation.kind, title: conversation.title, createdBy: conversation.createdBy,
            members: conversation.members, lastSeq: max(conversation.lastSeq, newest?.seq ?? 0),
            version: conversation.version, lastMessageContent: conversation.lastMessageContent ?? newest?.content,
            lastMessageTime: conversation.lastMessageTime ?? newest?.createdAt,
            lastMessageSenderID: conversation.lastMessageSenderID ?? newest?.senderID,
            lastReadSeq: conversation.lastReadSeq, createdAt: conversation.createdAt,
            updatedAt: conversation.updatedAt, mutedUntil: conversation.mutedUntil,
            pinnedSeqs: conversation.pinnedSeqs, data: conversation.data, unreadMentions: conversation.unreadMentions,
            isMarkedUnread: conversation.isMarkedUnread, isArchived: conversation.isArchived,
            isPinned: conversation.isPinned)
    }
}
