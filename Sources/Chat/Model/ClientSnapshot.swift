import Foundations
import Postline

/// The client's state at one moment.
struct ClientSnapshot: Sendable, Equatable {
    let state: ConnectionState
    /// True while a guest becomes an account, between the two connections.
    let isSigningIn: Bool
    let me: Me?
    /// The conversations, newest first: the pinned ones, the others, and those in the archive.
    let conversations: [Conversation]
    /// The messages of the followed conversations.
    let chats: [Conversation.ID: Messages]
    /// The refused changes, oldest first.
    let refused: [RefusedChange]
    /// The number of changes that the server has not acknowledged.
    let waiting: Int
    /// The users who are typing, by conversation.
    let typing: [Conversation.ID: [User.ID]]
    /// The users whom the user blocks.
    let blocked: [User.ID]
    /// The reason why the store or the server's responses cannot be used, or nil.
    let fault: String?
    /// All known users, by id.
    let users: [User.ID: User]

    /// The loaded messages of a conversation.
    struct Messages: Sendable, Equatable {
        var messages: [Message]
        /// True if older messages exist.
        var hasOlder: Bool
    }

    init(
        state: ConnectionState, isSigningIn: Bool = false, me: Me? = nil, conversations: [Conversation] = [],
        chats: [Conversation.ID: Messages] = [:],
        refused: [RefusedChange] = [], waiting: Int = 0, typing: [Conversation.ID: [User.ID]] = [:],
        blocked: [User.ID] = [], fault: String? = nil
    ) {
        self.state = state
        self.isSigningIn = isSigningIn
        self.me = me
        let current = conversations.filter { !$0.isArchived }
        self.conversations =
            current.filter(\.isPinned) + current.filter { !$0.isPinned } + conversations.filter(\.isArchived)
        self.chats = chats
        self.refused = refused
        self.waiting = waiting
        self.typing = typing
        self.blocked = blocked
        self.fault = fault
        var users: [User.ID: User] = [:]
        for chat in chats.values {
            for case let sender? in chat.messages.map(\.sender) { users[sender.id] = sender }
        }
        for person in conversations.flatMap(\.users) { users[person.id] = person }
        if let me { users[me.id] = me.profile }
        self.users = users
    }

    var myID: User.ID? { me?.id }

    func conversation(_ id: Conversation.ID) -> Conversation? { conversations.first { $0.id == id } }

    /// Returns a user's current name.
    func name(of userID: User.ID) -> String { users[userID]?.shownName ?? "(somebody)" }

    /// Returns the presence of the other user of a direct conversation, or nil if unknown.
    func presence(in conversation: Conversation) -> Presence? {
        conversation.otherUserPresence
    }

    /// Returns a sentence about who is typing, without a name in a direct conversation, or nil.
    func typists(in id: Conversation.ID) -> String? {
        guard let typists = typing[id]?.map({ name(of: $0) }), let first = typists.first else { return nil }
        return switch typists.count {
        case 1: conversation(id)?.kind == .direct ? "is typing …" : "\(first) is typing …"
        case 2: "\(first) and \(typists[1]) are typing …"
        default: "\(first) and \(typists.count - 1) others are typing …"
        }
    }

    /// Returns the sender and the text of a quote.
    func text(of quote: Message.Quote) -> String {
        guard let sender = quote.senderID else { return "#\(quote.seq)" }
        let file = quote.kind.flatMap(\.described).map { "[\($0)]" } ?? ""
        let content =
            quote.content.map { quote.isBlocked ? Message.blockedContent : $0.isEmpty ? file : $0 }
            ?? "(deleted)"
        return "\(sender == myID ? "you" : name(of: sender)): \(content)"
    }

    /// Returns a group's title, or the other user's name.
    func name(ofConversation id: Conversation.ID) -> String {
        guard let conversation = conversation(id) else { return "(conversation)" }
        if let title = conversation.title { return title }
        if conversation.kind == .group { return "(group)" }
        return conversation.members.first { $0.userID != myID }.map { name(of: $0.userID) } ?? "(nobody)"
    }

    /// Returns a message that a search has found in one line: its conversation, sender, time and content.
    func row(ofFound message: Message) -> String {
        let sender = message.isMine ? "you" : name(of: message.senderID)
        return PlainText.line(
            "\(name(ofConversation: message.conversationID)) · \(sender) · \(WallTime(message.createdAt).clockAndDay) · "
                + message.shownContent)
    }
}

extension User {
    /// The name to show, also for guests and deleted users.
    var shownName: String { displayName ?? (isDeleted ? "(deleted user)" : "(guest)") }

    /// Returns true if this is the user's name or username, ignoring case.
    func isCalled(_ name: String) -> Bool {
        let name = name.lowercased()
        return username?.lowercased() == name || shownName.lowercased() == name
    }
}

extension Message {
    /// The text in place of a message of a blocked user.
    static let blockedContent = "(a message from a blocked user)"

    /// The text to show.
    var shownContent: String {
        guard let caption else { return "(deleted)" }
        if isBlocked { return Self.blockedContent }
        if let event { return event.shown ?? caption }
        let files = attachments.map { $0.mediaID == nil && !$0.url.isEmpty ? $0.url : $0.described }
        return ((caption.isEmpty ? [] : [caption]) + files).joined(separator: "\n")
    }

    /// The reactions with their numbers.
    var shownReactions: String { reactions.map { "\($0.emoji) \($0.count)" }.joined(separator: ", ") }

    /// True if the message is deleted, here or everywhere.
    var isDeleted: Bool { content == nil }
}

extension GroupEvent {
    /// The event as a text that follows the sender's name, or nil if this version does not know it.
    fileprivate var shown: String? {
        let names = profiles.map(\.shownName)
        let first = names.dropLast().joined(separator: ", ")
        let others = [first, names.last ?? "somebody"].filter { !$0.isEmpty }.joined(separator: " and ")
        return switch kind {
        case .membersAdded: "added \(others)"
        case .memberRemoved: "removed \(others)"
        case .memberLeft: "left the group"
        case .renamed: "renamed the group to “\(title ?? "")”"
        default: nil
        }
    }
}

extension MessageKind {
    /// A description of an attachment of this kind, or nil for other kinds.
    fileprivate var described: String? {
        switch self {
        case .image: "a picture"
        case .video: "a video"
        case .audio: "an audio"
        case .file: "a file"
        default: nil
        }
    }
}

extension Message.Attachment {
    /// The description of a file: kind, name, size and length.
    var described: String {
        let title = waveform == nil ? kind.described ?? "a file" : "a voice message"
        let size = width.flatMap { width in height.map { "\(width)×\($0)" } }
        let length = duration.map { duration in
            let seconds = duration.components.seconds
            let parts = seconds < 3_600 ? [seconds / 60] : [seconds / 3_600, seconds / 60 % 60]
            let digits = (parts + [seconds % 60]).map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: ":")
            return digits.hasPrefix("0") ? String(digits.dropFirst()) : digits
        }
        let count = bytes.map { bytes in
            switch bytes {
            case ..<10_240: "\(bytes) bytes"
            case ..<(10 << 20): "\(bytes >> 10) KB"
            default: "\(bytes >> 20) MB"
            }
        }
        return "[" + [title, name, size, count, length].compactMap(\.self).joined(separator: ", ") + "]"
    }
}

extension PostlineError {
    /// The error as a sentence, with the time to retry if known.
    var sentence: String {
        if code == .offline { return "There is no connection to the server just now." }
        guard code == .usernameCooldown, let retryAt else { return message }
        return "\(message) Yours can be changed again from \(WallTime(retryAt).day) on."
    }
}

extension Conversation {
    /// The preview of the last message. One with only a picture has no text.
    var shownLastContent: String {
        guard let content = lastMessageContent else { return "(deleted)" }
        if isLastMessageBlocked { return Message.blockedContent }
        return content.isEmpty ? "[a picture]" : content
    }
}
