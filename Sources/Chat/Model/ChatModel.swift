import Postline

/// The state and logic of the chat, independent of its presentation.
///
/// A value without I/O: events and commands go in, effects and notices come out.
struct ChatModel: Sendable {
    private(set) var shown = ClientSnapshot(state: .connecting)
    private(set) var link = LinkState.connecting
    /// True once there has been a connection.
    private(set) var wasOnline = false
    /// True once the user was warned that signing out loses unsent messages.
    var wasWarnedOfLoss = false
    /// True while the user signs out, when losing the connection is expected.
    var isSigningOut = false
    /// The id of the open conversation.
    private(set) var openID: Conversation.ID?
    /// The conversations whose messages are shown.
    private(set) var followed: Set<Conversation.ID> = []
    /// The read mark at the time the conversation was opened. Later messages are new.
    private(set) var unreadAfter: Int?
    /// The avatars that the server offers.
    private(set) var catalogue: [BuiltInAvatar] = []
    /// The question that the next line answers.
    var question: Question?
    /// True until the data of a new device is complete. Nothing is news until then.
    private(set) var isFilling = true
    /// True if the store is deleted when the chat ends.
    let isTemporary: Bool

    /// True if messages of all conversations are announced. Otherwise the open conversation is visible.
    private let announcesMessages: Bool
    /// The last announced message of each conversation.
    private var lastAnnounced: [Conversation.ID: Int] = [:]
    /// The user's data at the last time without a pending edit.
    private var confirmedMe: Me?
    /// The highest requested read mark of each conversation.
    private var requestedMarks: [Conversation.ID: Int] = [:]
    /// True while the messages of an opened conversation are loading.
    private(set) var isOpening = false
    /// The oldest message when older ones were requested, or nil.
    private var loadsBefore: Int?
    private var knowsItIsGuest = false
    /// The refused changes that were sent again since the last snapshot. If they are refused again at once, no snapshot
    /// shows them otherwise.
    var retried: Set<Int64> = []

    init(announcesMessages: Bool = true, isTemporary: Bool = false) {
        self.announcesMessages = announcesMessages
        self.isTemporary = isTemporary
    }

    /// The open conversation.
    var open: Conversation? { openID.flatMap { shown.conversation($0) } }

    /// The loaded messages of the open conversation.
    var openMessages: [Message] { openID.flatMap { shown.chats[$0]?.messages } ?? [] }

    mutating func handle(_ event: ChatEvent) -> [ChatOutput] {
        switch event {
        case .shows(let shown):
            return show(shown)
        case .found(let query, let users, let messages, .show):
            return [.notice(.found(users, messages, query: query))]
        case .found(let query, let users, _, .open):
            return choose(among: users, for: query)
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
        case .replies(let message, let replies):
            return Self.thread(of: message, replies)
        case .scheduled(let messages):
            return [.notice(.scheduled(messages))]
        case .blocked(let users):
            return [.notice(.blocked(users))]
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

    private mutating func show(_ new: ClientSnapshot) -> [ChatOutput] {
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

    /// Resets the state for a new user.
    private mutating func begin(with new: ClientSnapshot) {
        isFilling = true
        (lastAnnounced, followed, requestedMarks, confirmedMe, openID, unreadAfter) = ([:], [], [:], nil, nil, nil)
        (isOpening, loadsBefore) = (false, nil)
        if case .ended = link {} else { link = .connecting }
        // Stored data is complete, so later changes are news.
        switch new.state {
        case .connecting, .offline: if !new.conversations.isEmpty { fill() }
        case .catchingUp, .live, .signedOut: break
        }
    }

    private mutating func fill() {
        isFilling = false
        for conversation in shown.conversations { lastAnnounced[conversation.id] = conversation.lastSeq }
        if shown.waiting == 0 { confirmedMe = shown.me }
    }

    private mutating func news(since old: ClientSnapshot) -> [ChatOutput] {
        var news = ChatUpdate.ofUsers(from: old, to: shown)
        if shown.waiting == 0, let me = shown.me {
            if let confirmedMe { news += ChatUpdate.ofMe(from: confirmedMe, to: me) }
            confirmedMe = me
        }
        news += ChatUpdate.ofConversations(from: old, to: shown)
        for case .left(let id, _) in news {
            (lastAnnounced[id], requestedMarks[id]) = (nil, nil)
            followed.remove(id)
            if openID == id { close() }
        }
        // After a restore, message numbers may be lower.
        for conversation in shown.conversations {
            lastAnnounced[conversation.id] = lastAnnounced[conversation.id].map { min($0, conversation.lastSeq) }
            requestedMarks[conversation.id] = requestedMarks[conversation.id].map { min($0, conversation.lastSeq) }
        }
        news += newMessages()
        news += ChatUpdate.ofEdits(from: old, to: shown)
        return news.map { .notice(.news($0)) }
    }

    /// Returns the results of changes that the server has refused since.
    ///
    /// Only a refused message is kept in its conversation, since it is the only copy of its text. Other changes are
    /// dropped at once: the server's value is shown again.
    private mutating func refusals(since old: [RefusedChange], isNews: Bool) -> [ChatOutput] {
        let known = Set(old.map(\.id)).subtracting(retried)
        retried = []
        return shown.refused.filter { !known.contains($0.id) }.flatMap { change -> [ChatOutput] in
            switch change.kind {
            case .message: isNews ? [.notice(.refused(change))] : []
            // A read mark in a conversation that no longer exists is no loss.
            case .readMark: [.effect(.discard([change.id]))]
            case .edit, .deletion, .reaction, .pin, .settings, .profile:
                [.effect(.discard([change.id])), .notice(.failed(change.sentence))]
            }
        }
    }

    /// Follows conversations with new messages, and announces them once loaded. One that streams is announced at its end
    /// (``ChatUpdate/ofEdits(from:to:)``).
    private mutating func newMessages() -> [ChatUpdate] {
        guard announcesMessages else { return [] }
        return shown.conversations.flatMap { conversation -> [ChatUpdate] in
            let id = conversation.id
            // In a new conversation, messages read elsewhere are not news.
            let from = lastAnnounced[id] ?? conversation.lastReadSeq
            lastAnnounced[id] = from
            guard conversation.lastSeq > from else { return [] }
            followed.insert(id)
            // A response to a change of the group has the number of its message, which arrives later.
            guard let messages = shown.chats[id]?.messages,
                let newest = messages.last(where: { $0.seq != nil })?.seq, newest >= conversation.lastSeq
            else { return [] }
            lastAnnounced[id] = conversation.lastSeq
            let new = messages.filter { $0.seq.map { $0 > from } ?? false }
            let skipped = (new.first?.seq ?? from + 1) - from - 1
            return (skipped > 0 ? [.skipped(conversationID: id, count: skipped)] : [])
                + new.filter { !$0.isStreaming }.map(ChatUpdate.message)
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
            // A session revoked elsewhere fails with either code.
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
        // It does not change during a chat. Without it, avatars have other colours.
        if catalogue.isEmpty { outputs.append(.effect(.fetchCatalogue)) }
        return outputs
    }

    /// Opens a loaded conversation.
    mutating func open(_ id: Conversation.ID) -> [ChatOutput] {
        guard let conversation = shown.conversation(id) else {
            return [.notice(.failed("That conversation is gone."))]
        }
        if !announcesMessages { followed = [] }
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

    /// Records that the user has seen the messages above, by writing one.
    mutating func hasWritten() { unreadAfter = nil }

    /// Handles that the newest messages of the open conversation are visible.
    mutating func sawNewest() -> [ChatOutput] {
        guard let open, open.unreadCount > 0, open.lastSeq > requestedMarks[open.id, default: 0],
            shown.chats[open.id]?.messages.last(where: { $0.seq != nil })?.seq == open.lastSeq
        else { return [] }
        requestedMarks[open.id] = open.lastSeq
        return [.effect(.markRead(conversationID: open.id, seq: open.lastSeq))]
    }

    /// Requests the messages before the oldest loaded one.
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
