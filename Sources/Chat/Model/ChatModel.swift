internal import PostlineClient

/// What the chat knows and decides, whatever it looks like: what the client shows, the open conversation, what is news.
///
/// A value without I/O: events and commands go in, effects and notices come out.
struct ChatModel: Sendable {
    private(set) var shown = Shown(state: .connecting)
    private(set) var link = LinkState.connecting
    /// Whether there has been a connection.
    private(set) var wasOnline = false
    /// Whether it was said that signing out now loses what is not sent.
    var wasWarnedOfLoss = false
    /// Whether the user is leaving this account: that the connection goes with it is no news.
    var isSigningOut = false
    /// The conversation that is open.
    private(set) var openID: String?
    /// The conversations whose messages are to be shown.
    private(set) var followed: Set<String> = []
    /// The user's mark as it was when the conversation was opened: what follows is new to the reader.
    private(set) var unreadAfter: Int?
    /// The avatars that the server offers.
    private(set) var catalogue: [BuiltInAvatar] = []
    /// What the next line answers.
    var question: Question?
    /// Until the world of a user who was never here is whole: what comes then is the world as it is, and no news.
    private(set) var isFilling = true
    /// Whether the store goes with the chat's end.
    let isTemporary: Bool

    /// Whether the messages of all conversations are news, or those of the open one are in sight and that is all.
    private let tellsMessages: Bool
    /// How far the messages of each conversation have been told.
    private var told: [String: Int] = [:]
    /// The user's own data as they were when no edit was on its way.
    private var settledMe: Me?
    /// The greatest mark asked for so far of each conversation.
    private var marked: [String: Int] = [:]
    /// Whether an opened conversation's messages are still to come.
    private var isOpening = false
    /// The oldest message when older ones were asked for; nil where none are.
    private var loadsBefore: Int?
    private var knowsItIsGuest = false

    init(tellsMessages: Bool = true, isTemporary: Bool = false) {
        self.tellsMessages = tellsMessages
        self.isTemporary = isTemporary
    }

    /// The open conversation.
    var open: Conversation? { openID.flatMap { shown.conversation($0) } }

    /// The open conversation's messages that are here.
    var openMessages: [Message] { openID.flatMap { shown.chats[$0]?.messages } ?? [] }

    mutating func handle(_ event: ChatEvent) -> [ChatOutput] {
        switch event {
        case .shows(let shown):
            return show(shown)
        case .found(let query, let people, .show):
            return [.notice(.people(people, query: query))]
        case .found(let query, let people, .open):
            return choose(among: people, for: query)
        case .opened(let id):
            return open(id)
        case .loadedOlder(let id):
            guard let before = loadsBefore else { return [] }
            loadsBefore = nil
            let older = (shown.chats[id]?.messages ?? []).filter { $0.seq ?? .max < before }
            return [.notice(.older(conversationID: id, older))]
        case .catalogue(let avatars):
            catalogue = avatars
            return []
        case .done(let sentence):
            return [.notice(.info(sentence))]
        case .signedOut(let sentence):
            return [.effect(.quit(saying: sentence))]
        case .failed(let reason):
            loadsBefore = nil
            isSigningOut = false
            return [.notice(.failed(reason))]
        }
    }

    private mutating func show(_ new: Shown) -> [ChatOutput] {
        let old = shown
        shown = new
        let isFirst = old.myID != new.myID
        if isFirst { begin(with: new) }
        var outputs: [ChatOutput] = []
        let isNews = !isFilling && !isFirst
        if isFilling {
            if new.me != nil, new.state == .live { fill() }
        } else if isNews {
            outputs += news(since: old)
        }
        outputs += refusals(since: isFirst ? [] : old.refused, isNews: isNews)
        outputs += linkNotices()
        if isOpening, let openID, new.chats[openID] != nil {
            isOpening = false
            outputs.append(.notice(.opened(conversationID: openID)))
        }
        if let fault = new.fault, fault != old.fault { outputs.append(.notice(.failed(fault))) }
        return outputs
    }

    /// Another user than before, or the first.
    private mutating func begin(with new: Shown) {
        isFilling = true
        (told, followed, marked, settledMe, openID, unreadAfter) = ([:], [], [:], nil, nil, nil)
        (isOpening, loadsBefore) = (false, nil)
        if case .ended = link {} else { link = .connecting }
        // What the device has of the last time is a world already, and what comes then is news.
        switch new.state {
        case .connecting, .offline: if !new.conversations.isEmpty { fill() }
        case .catchingUp, .live, .signedOut: break
        }
    }

    private mutating func fill() {
        isFilling = false
        for conversation in shown.conversations { told[conversation.id] = conversation.lastSeq }
        if shown.waiting == 0 { settledMe = shown.me }
    }

    private mutating func news(since old: Shown) -> [ChatOutput] {
        var news = News.ofPeople(from: old, to: shown)
        if shown.waiting == 0, let me = shown.me {
            if let settledMe { news += News.ofMe(from: settledMe, to: me) }
            settledMe = me
        }
        news += News.ofConversations(from: old, to: shown)
        for case .left(let id, _) in news {
            (told[id], marked[id]) = (nil, nil)
            followed.remove(id)
            if openID == id { close() }
        }
        // A world that was restored counts from further back.
        for conversation in shown.conversations {
            told[conversation.id] = told[conversation.id].map { min($0, conversation.lastSeq) }
            marked[conversation.id] = marked[conversation.id].map { min($0, conversation.lastSeq) }
        }
        news += newMessages()
        news += News.ofEdits(from: old, to: shown)
        return news.map { .notice(.news($0)) }
    }

    /// Returns what follows from changes that the server has refused since.
    ///
    /// Only a refused message is kept, in its conversation: it is the only copy of a text. Any other change is dropped at
    /// once, because the server's value is shown again, and a list of old refusals would only be in the way.
    private func refusals(since old: [RefusedChange], isNews: Bool) -> [ChatOutput] {
        let known = Set(old.map(\.id))
        return shown.refused.filter { !known.contains($0.id) }.flatMap { change -> [ChatOutput] in
            switch change.kind {
            case .message: isNews ? [.notice(.refused(change))] : []
            // A read mark in a conversation that is gone is no loss.
            case .readMark: [.effect(.discard([change.id]))]
            case .edit, .deletion, .profile:
                [.effect(.discard([change.id])), .notice(.failed(change.sentence))]
            }
        }
    }

    /// Follows conversations in which there is something new, and tells it as soon as it is here.
    private mutating func newMessages() -> [News] {
        guard tellsMessages else { return [] }
        return shown.conversations.flatMap { conversation -> [News] in
            let id = conversation.id
            // Of one that has just come, what the user has read elsewhere is no news.
            let from = told[id] ?? conversation.lastReadSeq
            told[id] = from
            guard conversation.lastSeq > from else { return [] }
            followed.insert(id)
            guard let messages = shown.chats[id]?.messages else { return [] }
            told[id] = conversation.lastSeq
            let new = messages.filter { $0.seq.map { $0 > from } ?? false }
            let skipped = (new.first?.seq ?? conversation.lastSeq + 1) - from - 1
            return (skipped > 0 ? [.skipped(conversationID: id, count: skipped)] : []) + new.map(News.message)
        }
    }

    private mutating func linkNotices() -> [ChatOutput] {
        guard !shown.isSigningIn, !isSigningOut else { return [] }
        let state: LinkState
        switch shown.state {
        case .connecting, .catchingUp, .signedOut(nil): return []
        case .offline: state = .offline
        case .live: state = .online
        case .signedOut(let error?):
            // What was revoked elsewhere is answered with either of the two.
            let isRevoked = [.sessionRevoked, .invalidToken].contains(error.code) && shown.me == nil && !isTemporary
            state = .ended(reason: isRevoked ? ChatEnded.revoked.description : error.sentence)
        }
        guard state != link else { return [] }
        link = state
        guard state == .online else { return [.notice(.link(state))] }
        wasOnline = true
        var outputs: [ChatOutput] = [.notice(.link(state))]
        if shown.me?.isGuest == true, !knowsItIsGuest {
            knowsItIsGuest = true
            outputs.append(.notice(.guest))
        }
        // It does not change while one talks. Without it avatars have other colours.
        if catalogue.isEmpty { outputs.append(.effect(.fetchCatalogue)) }
        return outputs
    }

    /// Opens a conversation that is here.
    mutating func open(_ id: String) -> [ChatOutput] {
        guard let conversation = shown.conversation(id) else {
            return [.notice(.failed("That conversation is gone."))]
        }
        if !tellsMessages { followed = [] }
        followed.insert(id)
        openID = id
        loadsBefore = nil
        unreadAfter = conversation.unreadCount > 0 ? conversation.lastReadSeq : nil
        isOpening = shown.chats[id] == nil
        return isOpening ? [] : [.notice(.opened(conversationID: id))]
    }

    /// Closes the open conversation.
    mutating func close() {
        (openID, unreadAfter, isOpening, loadsBefore) = (nil, nil, false, nil)
    }

    /// Who writes has seen what stands above.
    mutating func hasWritten() { unreadAfter = nil }

    /// The newest messages of the open conversation are before the reader's eyes.
    mutating func sawNewest() -> [ChatOutput] {
        guard let open, open.unreadCount > 0, open.lastSeq > marked[open.id, default: 0],
            shown.chats[open.id]?.messages.last(where: { $0.seq != nil })?.seq == open.lastSeq
        else { return [] }
        marked[open.id] = open.lastSeq
        return [.effect(.markRead(conversationID: open.id, seq: open.lastSeq))]
    }

    /// Asks for what stands before the oldest message that is here.
    mutating func loadOlder(orSay: Bool = false) -> [ChatOutput] {
        guard let openID, let chat = shown.chats[openID] else {
            return orSay ? [.notice(.failed("No conversation is open."))] : []
        }
        guard chat.hasOlder else { return orSay ? [.notice(.info("There is nothing older."))] : [] }
        guard loadsBefore == nil else { return [] }
        loadsBefore = chat.messages.first?.seq ?? .max
        return [.effect(.loadOlder(conversationID: openID))]
    }
}
