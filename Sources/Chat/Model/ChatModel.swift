internal import LineClient

/// What the chat knows and decides, whatever it looks like: the world, the open conversation, what is on its way.
///
/// A value without I/O: events and commands go in, effects and notices come out.
struct ChatModel: Sendable {
    private(set) var world = World()
    private(set) var link = LinkState.connecting
    /// The conversation that is open.
    private(set) var openID: String?
    /// What was typed and is not yet in the world, in order.
    private(set) var outgoing: [Outgoing] = []
    /// The user's mark as it was when the conversation was opened: what follows is new to the reader.
    private(set) var unreadAfter: Int?
    /// The avatars that the server offers.
    private(set) var catalogue: [BuiltInAvatar] = []
    /// What the next line answers.
    private(set) var question: Question?

    /// The greatest mark asked for so far of each conversation.
    private var marked: [String: Int] = [:]
    /// From a reset until live: what comes then is the world as it is, and no news.
    private var isFilling = true
    private var isLoadingOlder = false
    private var knowsItIsGuest = false
    private let makeID: @Sendable () -> String

    /// - Parameter makeID: makes the client ids of messages.
    init(makeID: @escaping @Sendable () -> String = { randomUUID() }) { self.makeID = makeID }

    /// The open conversation's messages that are held.
    var openMessages: [Message] { openID.flatMap { world.messages[$0] } ?? [] }

    mutating func handle(_ event: ChatEvent) -> [ChatOutput] {
        switch event {
        case .link(let state):
            return changeLink(to: state)
        case .changes(let changes):
            return notices(of: world.apply(changes))
        case .sent(let clientID, let message):
            outgoing.removeAll { $0.clientID == clientID }
            return notices(of: world.apply(message))
        case .delayed(let reason):
            return [.notice(.info("Not sent yet, and tried again by itself: \(reason)"))]
        case .refused(let clientID, let reason):
            guard let index = outgoing.firstIndex(where: { $0.clientID == clientID }) else { return [] }
            return [.notice(.refused(outgoing.remove(at: index), reason: reason))]
        case .found(let query, let people, .show):
            return [.notice(.people(people, query: query))]
        case .found(let query, let people, .open):
            return choose(among: people, for: query)
        case .opened(let conversation, let people):
            // The answer may come before the push of the same, and is no news then.
            _ = world.apply(conversation, people: people)
            return open(conversation.id)
        case .older(let id, let messages):
            isLoadingOlder = false
            world.applyOlder(messages, of: id)
            return [.notice(.older(conversationID: id, messages))]
        case .idle:
            return []
        case .me(let me):
            return notices(of: world.apply(me))
        case .catalogue(let avatars):
            catalogue = avatars
            return []
        case .done(let sentence):
            return [.notice(.info(sentence))]
        case .signedOut(let sentence):
            return [.effect(.quit(saying: sentence))]
        case .failed(let reason):
            isLoadingOlder = false
            return [.notice(.failed(reason))]
        }
    }

    private mutating func changeLink(to state: LinkState) -> [ChatOutput] {
        guard state != link else { return [] }
        link = state
        guard state == .online else { return [.notice(.link(state))] }
        isFilling = false
        isLoadingOlder = false
        guard world.me?.isGuest == true, !knowsItIsGuest else { return [.notice(.link(state))] }
        knowsItIsGuest = true
        return [.notice(.link(state)), .notice(.guest)]
    }

    private mutating func notices(of events: [World.Event]) -> [ChatOutput] {
        var outputs: [ChatOutput] = []
        for event in events {
            switch event {
            case .reset:
                isFilling = true
                marked = [:]
            case .message(let message):
                outgoing.removeAll { $0.clientID == message.clientID && message.senderID == world.myID }
            case .left(let id, _):
                marked[id] = nil
                outgoing.removeAll { $0.conversationID == id }
                if openID == id { openID = nil }
            case .skipped, .changed, .renamed, .newUsername, .newAvatar, .joined, .retitled, .read:
                break
            }
            if !isFilling { outputs.append(.notice(.world(event))) }
        }
        if let openID, world.conversations[openID] == nil, !isFilling { self.openID = nil }
        return outputs
    }

    mutating func perform(_ command: TypedLine) -> [ChatOutput] {
        switch command {
        case .text(let text): return send(text)
        case .help: return [.notice(.help)]
        case .list: return [.notice(.conversations)]
        case .members:
            return [
                openID == nil ? .notice(.failed("No conversation is open. /open NAME opens one.")) : .notice(.members)
            ]
        case .older: return loadOlder(orSay: true)
        case .open(let name): return open(named: name)
        case .search(let query): return [.effect(.search(query: query, purpose: .show))]
        case .me: return [.notice(.me)]
        case .name(let name): return [.effect(.change(.name(name)))]
        case .username(let name?): return [.effect(.change(.username(name)))]
        case .username(nil): return [.notice(.info(usernameNow))]
        case .avatar(let choice?): return [.effect(.change(.avatar(avatar(choice))))]
        case .avatar(nil): return [.notice(catalogue.isEmpty ? .failed("The server offers no avatars.") : .avatars)]
        case .bio(let bio): return [.effect(.change(.bio(bio)))]
        case .upgrade(let email): return askGuest(.upgrade(email: email))
        case .signIn(let email): return askGuest(.signIn(email: email))
        case .password:
            guard world.me?.isGuest == false else {
                return [.notice(.failed("A guest has no password. /upgrade EMAIL gives you one."))]
            }
            return ask(.changePassword)
        case .logout(let everywhere): return [.effect(.account(.logout(everywhere: everywhere)))]
        case .delete: return ask(.delete(isGuest: world.me?.isGuest ?? false))
        case .quit: return [.effect(.quit(saying: nil))]
        case .incomplete(let usage): return [.notice(.failed("Say it like this: \(usage)"))]
        case .unknown(let name): return [.notice(.failed("There is no command /\(name). /help shows those there are."))]
        }
    }

    /// Takes a line that answers the question.
    mutating func answer(_ line: String) -> [ChatOutput] {
        guard var asked = question else { return [] }
        switch asked.take(line) {
        case .more:
            question = asked
            return [.notice(.question(asked))]
        case .done(let action):
            question = nil
            return [.effect(.account(action))]
        case .given(let reason):
            question = nil
            return [.notice(.failed(reason))]
        }
    }

    private mutating func ask(_ purpose: Question.Purpose) -> [ChatOutput] {
        let question = Question(purpose)
        self.question = question
        return [.notice(.question(question))]
    }

    private mutating func askGuest(_ purpose: Question.Purpose) -> [ChatOutput] {
        guard world.me?.isGuest == true else {
            let sentence = "You have an account already. /logout, and start the chat again to use another."
            return [.notice(.failed(sentence))]
        }
        return ask(purpose)
    }

    private var usernameNow: String {
        guard let me = world.me, let username = me.person.username else {
            return "You have no username yet. /username NAME gives you one."
        }
        return "You are @\(username)\(usernameCooldown)."
    }

    /// From when on the username may be changed again, as the end of a sentence.
    var usernameCooldown: String {
        guard let day = world.me?.usernameChangeAllowedAt.flatMap(WireTime.init)?.day else { return "" }
        return "; it can be changed again from \(day) on"
    }

    /// By address, or by id or name in the catalogue; of anything else the server says what is wrong with it.
    private func avatar(_ choice: String) -> Avatar {
        if choice.contains("://") { return .custom(url: choice) }
        let wanted = choice.lowercased()
        if wanted == "none" { return .none }
        return .builtIn(id: catalogue.first { $0.id == wanted || $0.name.lowercased() == wanted }?.id ?? choice)
    }

    private mutating func send(_ text: String) -> [ChatOutput] {
        guard let openID else {
            return [.notice(.failed("No conversation is open. /open NAME opens one, /list shows them."))]
        }
        let message = Outgoing(clientID: makeID(), conversationID: openID, content: text)
        outgoing.append(message)
        // Who answers has seen what stands above.
        unreadAfter = nil
        return [.effect(.send(message))]
    }

    /// By number in the list, then by name among the conversations, then by looking for a person.
    private mutating func open(named name: String) -> [ChatOutput] {
        let conversations = world.ordered
        if let number = Int(name) {
            guard conversations.indices.contains(number - 1) else {
                return [.notice(.failed("There is no conversation \(number). /list shows those there are."))]
            }
            return open(conversations[number - 1].id)
        }
        let wanted = name.lowercased()
        func names(_ conversation: Conversation) -> [String] {
            var names = [world.name(ofConversation: conversation.id)]
            if conversation.kind == "direct" {
                names += conversation.members.filter { $0.userID != world.myID }
                    .compactMap { world.people[$0.userID]?.username }
            }
            return names.map { $0.lowercased() }
        }
        if let exact = conversations.first(where: { names($0).contains(wanted) }) { return open(exact.id) }
        let beginning = conversations.filter { names($0).contains { $0.hasPrefix(wanted) } }
        if beginning.count == 1 { return open(beginning[0].id) }
        return [.effect(.search(query: name, purpose: .open))]
    }

    private mutating func choose(among people: [Person], for query: String) -> [ChatOutput] {
        let wanted = query.lowercased()
        let exact = people.filter { $0.username?.lowercased() == wanted || $0.name.lowercased() == wanted }
        if exact.count == 1 { return [.effect(.openDirect(exact[0]))] }
        if people.count == 1 { return [.effect(.openDirect(people[0]))] }
        return [.notice(.people(people, query: query))]
    }

    /// Opens a conversation that is in the world.
    mutating func open(_ id: String) -> [ChatOutput] {
        guard let conversation = world.conversations[id] else {
            return [.notice(.failed("That conversation is gone."))]
        }
        openID = id
        unreadAfter = conversation.unreadCount > 0 ? conversation.lastReadSeq : nil
        return [.notice(.opened(conversationID: id))]
    }

    /// Closes the open conversation.
    mutating func close() {
        openID = nil
        unreadAfter = nil
    }

    /// The newest messages of the open conversation are before the reader's eyes.
    mutating func sawNewest() -> [ChatOutput] {
        guard let openID, let conversation = world.conversations[openID], let newest = world.messages[openID]?.last,
            newest.seq > conversation.lastReadSeq, newest.seq > marked[openID, default: 0]
        else { return [] }
        marked[openID] = newest.seq
        return [.effect(.markRead(conversationID: openID, seq: newest.seq))]
    }

    /// Asks for what stands before the oldest message that is held.
    mutating func loadOlder(orSay: Bool = false) -> [ChatOutput] {
        guard let openID else { return orSay ? [.notice(.failed("No conversation is open."))] : [] }
        let oldest = world.messages[openID]?.first?.seq ?? (world.conversations[openID]?.lastSeq ?? 0) + 1
        guard oldest > 1 else { return orSay ? [.notice(.info("There is nothing older."))] : [] }
        guard !isLoadingOlder else { return [] }
        isLoadingOlder = true
        return [.effect(.loadOlder(conversationID: openID, beforeSeq: oldest))]
    }
}
