import Postline

/// An event from the client.
enum ChatEvent: Sendable, Equatable {
    /// The client's state has changed.
    case shows(ClientSnapshot)
    case found(query: String, users: [User], messages: [Message] = [], purpose: SearchPurpose)
    /// A requested conversation is open.
    case opened(conversationID: Conversation.ID)
    /// Requested older messages have arrived.
    case loadedOlder(conversationID: Conversation.ID)
    /// The avatars that the server offers.
    case catalogue([BuiltInAvatar])
    /// The replies to a message, oldest first.
    case replies(Message, [Message])
    /// The messages that wait for their time in the open conversation.
    case scheduled([ScheduledMessage])
    /// The users whom the user blocks.
    case blocked([User])
    /// A request succeeded, with a sentence to show.
    case done(String)
    /// The user has signed out.
    case signedOut(String)
    /// A request failed.
    case failed(String)
}

/// The connection's state for people: a running attempt is not shown.
enum LinkState: Sendable, Equatable {
    case connecting
    case online
    case offline
    /// The session has ended.
    case ended(reason: String)
}

/// The purpose of a search.
enum SearchPurpose: Sendable, Equatable {
    case show
    /// Open the conversation with the matching user.
    case open
}

/// A side effect that the client executes.
enum ChatEffect: Sendable, Equatable {
    case send(conversationID: Conversation.ID, content: String, details: MessageDetails = MessageDetails())
    /// Edits a message, with the mentions of its new text.
    case edit(Message, content: String, details: MessageDetails = MessageDetails())
    case delete(Message)
    case react(Message, emoji: String, isSet: Bool)
    case pin(Message, isPinned: Bool)
    case archive(conversationID: Conversation.ID, isArchived: Bool)
    case markRead(conversationID: Conversation.ID, seq: Int)
    /// Saves a draft.
    case draft(conversationID: Conversation.ID, content: String)
    case change(ProfileChange)
    case retry([Int64])
    case discard([Int64])
    case search(query: String, purpose: SearchPurpose)
    case openDirect(User)
    case loadOlder(conversationID: Conversation.ID)
    case loadReplies(Message)
    case group(GroupAction)
    case schedule(ScheduleAction)
    case report(ReportAction)
    case block(BlockAction)
    case file(FileAction)
    case fetchCatalogue
    case account(AccountAction)
    /// Ends the chat with a farewell.
    case quit(saying: String?)

    /// The number of replies that are shown, the newest.
    static let maxReplies = 200
}

/// A notice to the user.
enum ChatNotice: Sendable, Equatable {
    case link(LinkState)
    case news(ChatUpdate)
    case opened(conversationID: Conversation.ID)
    case conversations
    case found([User], [Message], query: String)
    case members
    case me
    case avatars
    /// The user's own messages, to choose from.
    case ownMessages([Message])
    /// Messages with their numbers.
    case numbered([Message])
    case scheduled([ScheduledMessage])
    case blocked([User])
    /// A message to edit.
    case edit(Message)
    /// The user is a guest, with the consequences.
    case guest
    /// A question that the next line answers.
    case question(Question)
    case help
    case info(String)
    case failed(String)
    /// The server refused a message.
    case refused(RefusedChange)
    /// The refused messages that were neither resent nor discarded.
    case refusals
    case older(conversationID: Conversation.ID, [Message])
}

/// The result of an event or command.
enum ChatOutput: Sendable, Equatable {
    case effect(ChatEffect)
    case notice(ChatNotice)
}
