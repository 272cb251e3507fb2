/// What reaches the chat from its connection.
enum ChatEvent: Sendable, Equatable {
    case link(LinkState)
    case changes(Changes)
    /// An outgoing message was taken by the server.
    case sent(clientID: String, Message)
    /// The outgoing messages cannot be taken now; they are sent again until they are.
    case delayed(reason: String)
    /// An outgoing message was refused for good.
    case refused(clientID: String, reason: String)
    case found(query: String, people: [Person], purpose: SearchPurpose)
    case opened(Conversation, people: [Person])
    case older(conversationID: String, [Message])
    /// The user's own data, as the answer to a change of them.
    case me(Me)
    /// The avatars that the server offers.
    case catalogue([BuiltInAvatar])
    /// What was asked for is done: a sentence.
    case done(String)
    /// The user is signed out, as it wished.
    case signedOut(String)
    /// All that was on its way has been answered.
    case idle
    /// Something that was asked for did not come about.
    case failed(String)
}

/// How it stands with the connection.
enum LinkState: Sendable, Equatable {
    case connecting
    case online
    /// Lost, or not reached; tried again after `wait`.
    case offline(reason: String, wait: Duration)
    /// Over for good.
    case ended(reason: String)
}

/// What a search is for.
enum SearchPurpose: Sendable, Equatable {
    case show
    /// To open the conversation with the one that is meant.
    case open
}

/// What the chat asks of its connection.
enum ChatEffect: Sendable, Equatable {
    case send(Outgoing)
    case markRead(conversationID: String, seq: Int)
    case search(query: String, purpose: SearchPurpose)
    case openDirect(Person)
    case loadOlder(conversationID: String, beforeSeq: Int)
    case change(ProfileChange)
    case account(AccountAction)
    /// Leaves, with a word of farewell.
    case quit(saying: String?)
}

/// What a person is told.
enum ChatNotice: Sendable, Equatable {
    case link(LinkState)
    case world(World.Event)
    case opened(conversationID: String)
    case conversations
    case people([Person], query: String)
    case members
    case me
    case avatars
    /// The user is a guest: what follows from that.
    case guest
    /// Something is asked for; the next line answers it.
    case question(Question)
    case help
    case info(String)
    case failed(String)
    case refused(Outgoing, reason: String)
    case older(conversationID: String, [Message])
}

/// What follows from an event or a command.
enum ChatOutput: Sendable, Equatable {
    case effect(ChatEffect)
    case notice(ChatNotice)
}

/// A message on its way to the server.
struct Outgoing: Sendable, Equatable {
    /// Made once: with the same id the server takes the message once, however often it is sent.
    let clientID: String
    let conversationID: String
    let content: String
}
