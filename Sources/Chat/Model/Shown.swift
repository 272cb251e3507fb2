internal import PostlineClient

/// What the client shows, at one moment.
struct Shown: Sendable, Equatable {
    let state: ConnectionState
    /// Whether a guest is becoming an account, between the connection of the one and that of the other.
    let isSigningIn: Bool
    let me: Me?
    /// The newest first.
    let conversations: [Conversation]
    /// The messages of the conversations that are followed.
    let chats: [String: Messages]
    /// What the server refused, the oldest first.
    let refused: [RefusedChange]
    /// How much was written that the server has not answered yet.
    let waiting: Int
    /// Who is just typing, by conversation.
    let typing: [String: [String]]
    /// Why the store cannot be used, or the server not be understood.
    let fault: String?
    /// Everybody who is in sight, by id.
    let people: [String: Profile]

    /// The messages of a conversation that are here.
    struct Messages: Sendable, Equatable {
        var messages: [Message]
        /// Whether older ones are to be had.
        var hasOlder: Bool
    }

    init(
        state: ConnectionState, isSigningIn: Bool = false, me: Me? = nil, conversations: [Conversation] = [],
        chats: [String: Messages] = [:],
        refused: [RefusedChange] = [], waiting: Int = 0, typing: [String: [String]] = [:], fault: String? = nil
    ) {
        self.state = state
        self.isSigningIn = isSigningIn
        self.me = me
        self.conversations = conversations
        self.chats = chats
        self.refused = refused
        self.waiting = waiting
        self.typing = typing
        self.fault = fault
        var people: [String: Profile] = [:]
        for chat in chats.values {
            for case let sender? in chat.messages.map(\.sender) { people[sender.id] = sender }
        }
        for person in conversations.flatMap(\.people) { people[person.id] = person }
        if let me { people[me.id] = me.profile }
        self.people = people
    }

    var myID: String? { me?.id }

    func conversation(_ id: String) -> Conversation? { conversations.first { $0.id == id } }

    /// A user's name as of now.
    func name(of userID: String) -> String { people[userID]?.shownName ?? "(somebody)" }

    /// Whether the other one of a direct conversation is online; nil where nothing is known.
    func presence(in conversation: Conversation) -> Presence? {
        myID.flatMap { conversation.presenceOfOtherUser(than: $0) }
    }

    /// Who is typing there, as a sentence, in which the one of a direct conversation needs no name; nil where nobody is.
    func typists(in id: String) -> String? {
        guard let typists = typing[id]?.map({ name(of: $0) }), let first = typists.first else { return nil }
        return switch typists.count {
        case 1: conversation(id)?.kind == .direct ? "is typing …" : "\(first) is typing …"
        case 2: "\(first) and \(typists[1]) are typing …"
        default: "\(first) and \(typists.count - 1) others are typing …"
        }
    }

    /// A group's title, or the other one's name.
    func name(ofConversation id: String) -> String {
        guard let conversation = conversation(id) else { return "(conversation)" }
        if let title = conversation.title { return title }
        if conversation.kind == .group { return "(group)" }
        return conversation.members.first { $0.userID != myID }.map { name(of: $0.userID) } ?? "(nobody)"
    }
}

extension Profile {
    /// The name to show, whatever there is of the user.
    var shownName: String { displayName ?? (isDeleted ? "(deleted user)" : "(guest)") }

    /// Whether it goes by that name, in whatever case.
    func isCalled(_ name: String) -> Bool {
        let name = name.lowercased()
        return username?.lowercased() == name || shownName.lowercased() == name
    }
}

extension Message {
    /// What to show of it.
    var shownContent: String {
        guard let content else { return "(deleted)" }
        if let event { return event.shown ?? content }
        guard let attachment else { return content }
        let picture = attachment.mediaID == nil ? attachment.url : attachment.described
        return content.isEmpty ? picture : "\(content)\n\(picture)"
    }

    /// Whether it is deleted, here or everywhere.
    var isDeleted: Bool { content == nil }
}

extension GroupEvent {
    /// The event as it stands behind the sender's name; nil for one that this version does not know.
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

extension Message.Attachment {
    /// What a terminal shows of an uploaded picture.
    fileprivate var described: String {
        let size = width.flatMap { width in height.map { "\(width)×\($0)" } }
        let length = bytes.map { $0 < 10_240 ? "\($0) bytes" : "\($0 >> 10) KB" }
        return "[" + ["a picture", size, length].compactMap(\.self).joined(separator: ", ") + "]"
    }
}

extension PostlineError {
    /// The sentence, and when to try again where that is known.
    var sentence: String {
        if code == .offline { return "There is no connection to the server just now." }
        guard code == .usernameCooldown, let retryAt else { return message }
        return "\(message) Yours can be changed again from \(WallTime(retryAt).day) on."
    }
}

extension Conversation {
    /// What stands for its last message in a list. One of a picture alone has no text.
    var shownLastContent: String {
        guard let content = lastMessageContent else { return "(deleted)" }
        return content.isEmpty ? "[a picture]" : content
    }
}
