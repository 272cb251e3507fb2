import Postline

/// A change that a user would notice between two states.
enum ChatUpdate: Sendable, Equatable {
    case message(Message)
    /// So many messages are new that only the newest are loaded.
    case skipped(conversationID: Conversation.ID, count: Int)
    /// A message was edited or deleted.
    case changed(Message)
    /// A message has other reactions.
    case reacted(Message)
    case pinned(conversationID: Conversation.ID, seq: Int, Bool)
    case archived(conversationID: Conversation.ID, Bool)
    case renamed(userID: User.ID, from: String, to: String)
    /// A user has another username, or a first one.
    case newUsername(userID: User.ID, to: String)
    case newAvatar(userID: User.ID)
    /// The user's own bio was set or cleared.
    case newBio(isSet: Bool)
    /// The user hides its presence, or shows it again.
    case newPresence(isHidden: Bool)
    case joined(conversationID: Conversation.ID)
    case left(conversationID: Conversation.ID, name: String)
    case retitled(conversationID: Conversation.ID, from: String)
    case added(userID: User.ID, conversationID: Conversation.ID)
    case removed(userID: User.ID, name: String, conversationID: Conversation.ID)
    case newRole(userID: User.ID, conversationID: Conversation.ID, MemberRole)
    case read(conversationID: Conversation.ID, userID: User.ID, seq: Int)
}

extension ChatUpdate {
    /// Returns changes of users, without the user's own data, which show edits before they are made.
    static func ofUsers(from old: ClientSnapshot, to new: ClientSnapshot) -> [ChatUpdate] {
        new.users.keys.sorted().filter { $0 != new.myID }.flatMap { id -> [ChatUpdate] in
            guard let before = old.users[id], let now = new.users[id], before != now else { return [] }
            return of(before, now)
        }
    }

    /// Returns changes of the user's own data.
    static func ofMe(from old: Me, to new: Me) -> [ChatUpdate] {
        var news = of(old.profile, new.profile)
        if old.bio != new.bio { news.append(.newBio(isSet: new.bio != nil)) }
        if old.hidesPresence != new.hidesPresence { news.append(.newPresence(isHidden: new.hidesPresence)) }
        return news
    }

    private static func of(_ old: User, _ new: User) -> [ChatUpdate] {
        var news: [ChatUpdate] = []
        if new.shownName != old.shownName {
            news.append(.renamed(userID: new.id, from: old.shownName, to: new.shownName))
        }
        // A deleted user's name says that nothing is left.
        guard !new.isDeleted else { return news }
        if let username = new.username, username != old.username {
            news.append(.newUsername(userID: new.id, to: username))
        }
        if new.avatarType != old.avatarType || new.avatarID != old.avatarID || new.avatarURL != old.avatarURL {
            news.append(.newAvatar(userID: new.id))
        }
        return news
    }

    /// Returns changes of conversations, without their messages.
    static func ofConversations(from old: ClientSnapshot, to new: ClientSnapshot) -> [ChatUpdate] {
        let before = Dictionary(uniqueKeysWithValues: old.conversations.map { ($0.id, $0) })
        var news: [ChatUpdate] = old.conversations.filter { new.conversation($0.id) == nil }
            .map { .left(conversationID: $0.id, name: old.name(ofConversation: $0.id)) }
        for conversation in new.conversations {
            guard let held = before[conversation.id] else {
                // The creator knows.
                if conversation.createdBy != new.myID { news.append(.joined(conversationID: conversation.id)) }
                continue
            }
            guard held != conversation else { continue }
            if held.title != conversation.title {
                news.append(.retitled(conversationID: held.id, from: old.name(ofConversation: held.id)))
            }
            let (before, now) = (held.pinnedSeqs, conversation.pinnedSeqs)
            news += now.filter { !before.contains($0) }.map { .pinned(conversationID: held.id, seq: $0, true) }
            news += before.filter { !now.contains($0) }.map { .pinned(conversationID: held.id, seq: $0, false) }
            if held.isArchived != conversation.isArchived {
                news.append(.archived(conversationID: held.id, conversation.isArchived))
            }
            news += ofMembers(from: held, to: conversation, old)
        }
        return news
    }

    private static func ofMembers(from held: Conversation, to new: Conversation, _ old: ClientSnapshot) -> [ChatUpdate]
    {
        let before = Dictionary(held.members.map { ($0.userID, $0) }) { $1 }
        let now = Set(new.members.map(\.userID))
        var news: [ChatUpdate] = held.members.filter { !now.contains($0.userID) }
            .map { .removed(userID: $0.userID, name: old.name(of: $0.userID), conversationID: new.id) }
        for member in new.members {
            guard let held = before[member.userID] else {
                news.append(.added(userID: member.userID, conversationID: new.id))
                continue
            }
            if held.role != member.role {
                news.append(.newRole(userID: member.userID, conversationID: new.id, member.role))
            }
            if held.lastReadSeq < member.lastReadSeq {
                news.append(.read(conversationID: new.id, userID: member.userID, seq: member.lastReadSeq))
            }
        }
        return news
    }

    /// Returns loaded messages that have been edited or deleted, have other reactions, or stream no longer.
    static func ofEdits(from old: ClientSnapshot, to new: ClientSnapshot) -> [ChatUpdate] {
        new.chats.keys.sorted().flatMap { id -> [ChatUpdate] in
            guard let held = old.chats[id]?.messages, let now = new.chats[id]?.messages, held != now else { return [] }
            let before = Dictionary(held.compactMap { message in message.seq.map { ($0, message) } }) { $1 }
            return now.compactMap { message in
                guard let old = message.seq.flatMap({ before[$0] }) else { return nil }
                // The times of changes that wait are those of this device.
                let isSent = message.delivery == .sent
                if old.isStreaming, !message.isStreaming, !message.isDeleted { return .message(message) }
                if isSent, old.editedAt != message.editedAt || old.deletedAt != message.deletedAt {
                    return .changed(message)
                }
                return old.reactions == message.reactions || message.isDeleted ? nil : .reacted(message)
            }
        }
    }

    /// Returns the meaning of the presence setting, in words.
    static func words(isHidden: Bool) -> String {
        isHidden
            ? "Nobody sees when you are here, nor you when others are. /show shows it again."
            : "Who shares a conversation with you sees when you are here."
    }
}
