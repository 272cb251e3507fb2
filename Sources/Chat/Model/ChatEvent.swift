internal import PostlineClient

/// What reaches the chat from its client.
enum ChatEvent: Sendable, Equatable {
    /// Something of what the client shows has changed.
    case shows(Shown)
    case found(query: String, people: [Profile], purpose: SearchPurpose)
    /// A conversation that was asked for is there.
    case opened(conversationID: String)
    /// The older messages that were asked for are there.
    case loadedOlder(conversationID: String)
    /// The avatars that the server offers.
    case catalogue([BuiltInAvatar])
    /// What was asked for is done: a sentence.
    case done(String)
    /// The user is signed out, as it wished.
    case signedOut(String)
    /// Something that was asked for did not come about.
    case failed(String)
}

/// How it stands with the connection, as a person sees it: a try that is not over says nothing.
enum LinkState: Sendable, Equatable {
    case connecting
    case online
    case offline
    /// Over for good.
    case ended(reason: String)
}

/// What a search is for.
enum SearchPurpose: Sendable, Equatable {
    case show
    /// To open the conversation with the one that is meant.
    case open
}

/// What the chat asks of its client.
enum ChatEffect: Sendable, Equatable {
    case send(conversationID: String, content: String)
    case edit(Message, content: String)
    case delete(Message)
    case markRead(conversationID: String, seq: Int)
    /// Keeps what was typed and not sent.
    case draft(conversationID: String, content: String)
    case change(ProfileChange)
    case retry([Int64])
    case discard([Int64])
    case search(query: String, purpose: SearchPurpose)
    case openDirect(Profile)
    case loadOlder(conversationID: String)
    case group(GroupAction)
    case picture(PictureAction)
    case fetchCatalogue
    case account(AccountAction)
    /// Leaves, with a word of farewell.
    case quit(saying: String?)
}

/// What a person is told.
enum ChatNotice: Sendable, Equatable {
    case link(LinkState)
    case news(News)
    case opened(conversationID: String)
    case conversations
    case people([Profile], query: String)
    case members
    case me
    case avatars
    /// The user's own messages, to be chosen from.
    case ownMessages([Message])
    /// This message is to be edited.
    case edit(Message)
    /// The user is a guest: what follows from that.
    case guest
    /// Something is asked for; the next line answers it.
    case question(Question)
    case help
    case info(String)
    case failed(String)
    /// A message was refused.
    case refused(RefusedChange)
    /// The refused messages that were neither sent again nor discarded.
    case refusals
    case older(conversationID: String, [Message])
}

/// What follows from an event or a command.
enum ChatOutput: Sendable, Equatable {
    case effect(ChatEffect)
    case notice(ChatNotice)
}
