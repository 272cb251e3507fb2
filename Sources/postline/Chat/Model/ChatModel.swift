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

    /// The greatest mark asked for so far of each conversation.
    private var marked: [String: Int] = [:]
    /// From a reset until live: what comes then is the world as it is, and no news.
    private var isFilling = true
    private var isLoadingOlder = false
    private let makeID: @Sendable () -> String

    /// - Parameter makeID: makes the client ids of messages.
    init(makeID: @escaping @Sendable () -> String = { randomUUID() }) { self.makeID = makeID }

    /// The open conversation's messages that are held.
    var openMessages: [Message] { openID.flatMap { world.messages[$0] } ?? [] }

    // MARK: Events

    mutating func handle(_ event: ChatEvent) -> [ChatOutput] {
        switch event {
        case .link(let state):
            return changeLink(to: state)
        case .changes(let changes):
            return notices(of: world.apply(changes))
        case .sent(let clientID, let message):
            outgoing.removeAll { $0.clientID == clientID }
            return notices(of: world.apply(message))
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
        case .renamed(let me):
            return notices(of: world.apply(me))
        case .failed(let reason):
            isLoadingOlder = false
            return [.notice(.failed(reason))]
        }
    }

    private mutating func changeLink(to state: LinkState) -> [ChatOutput] {
        guard state != link else { return [] }
        link = state
        if state == .online {
            isFilling = false
            isLoadingOlder = false
        }
        return [.notice(.link(state))]
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
            case .skipped, .changed, .renamed, .joined, .retitled, .read:
                break
            }
            if !isFilling { outputs.append(.notice(.world(event))) }
        }
        if let openID, world.conversations[openID] == nil, !isFilling { self.openID = nil }
        return outputs
    }

    // MARK: Commands

    mutating func perform(_ command: ChatCommand) -> [ChatOutput] {
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
        case .name(let name): return [.effect(.rename(name))]
        case .quit: return [.effect(.quit)]
        case .incomplete(let usage): return [.notice(.failed("Say it like this: \(usage)"))]
        case .unknown(let name): return [.notice(.failed("There is no command /\(name). /help shows those there are."))]
        }
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

/// A random UUID (version 4) in lower case, as the protocol writes ids.
func randomUUID() -> String {
    var bytes = (0..<16).map { _ in UInt8.random(in: .min ... .max) }
    bytes[6] = bytes[6] & 0x0F | 0x40
    bytes[8] = bytes[8] & 0x3F | 0x80
    var text = ""
    for (index, byte) in bytes.enumerated() {
        if [4, 6, 8, 10].contains(index) { text += "-" }
        text += (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }
    return text
}
