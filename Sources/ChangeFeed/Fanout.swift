import Foundations
import NIOCore
import Postgres

/// The fan-out: decides which subscriptions receive which changes of each batch.
///
/// It indexes live sessions by user and by conversation, and updates the index from the changes that it distributes.
///
/// A subscriber is *waiting* while its page of `sync.open` is read, and batches are kept for it. When it is activated
/// with the page's snapshot, it receives exactly those changes of the kept and all later batches that this snapshot did
/// not see.
package struct Fanout {
    package typealias SubscriptionID = Int

    /// A push and its receivers: one subscriber, or several that receive identical content.
    struct AddressedPush {
        let subscribers: [SubscriptionID]
        let push: Push
    }

    private struct Subscriber {
        let user: ID
        let messagesPerConversation: Int

        /// The snapshot of the subscriber's page, until a batch covers it; then nil.
        var seen: Snapshot?
        var conversations: Set<ID> = []
        var unseenUsers: [ID] = []
    }

    private var live: [SubscriptionID: Subscriber] = [:]
    private var byUser: [ID: Set<SubscriptionID>] = [:]
    private var byConversation: [ID: Set<SubscriptionID>] = [:]

    /// Live subscribers whose own snapshot may be ahead of the batches.
    private var ahead: Set<SubscriptionID> = []

    /// Live subscribers to whom others' presence is not shown.
    private var presenceHidden: Set<SubscriptionID> = []

    /// Live subscribers to whom presence and typing of a user are not shown because of a block, by that user.
    private var blockedFrom: [ID: Set<SubscriptionID>] = [:]

    /// The pushes that the clients of live subscribers have not acknowledged.
    var acknowledgements = AcknowledgementTracker()

    /// Waiting subscribers, each with the number of the first batch that it must receive.
    private var waiting: [SubscriptionID: (subscriber: Subscriber, from: Int)] = [:]
    private var kept: [ChangeBatch] = []
    private var keptBytes = 0

    /// The limit for batches that are kept for waiting subscribers, in bytes. Beyond it their changes are dropped, and
    /// the subscribers that wait for them must resync once their page is read.
    private let maxKeptBytes: Int

    /// The limit for one push, in bytes: what a connection may queue. Beyond it the receiver must resync anyway.
    private let maxPushBytes: Int

    /// The limit for all pushes of a batch that have one receiver each, in bytes.
    private static let maxOwnBytes = 64 << 20

    /// Subscribers that were removed because their part of a batch exceeds a limit.
    private var overflowed: [SubscriptionID] = []

    init(maxKeptBytes: Int = 64 << 20, maxPushBytes: Int = 1 << 20) {
        self.maxKeptBytes = maxKeptBytes
        self.maxPushBytes = maxPushBytes
    }

    private var nextBatch = 0
    private var nextID = 0

    /// Subscribers that have received everything up to the latest batch.
    var upToDate: some Collection<SubscriptionID> { live.keys.lazy.filter { [ahead] in !ahead.contains($0) } }

    var count: Int { live.count }

    /// Returns the number of a live subscriber's conversations, or nil if it is not live.
    func conversationCount(of id: SubscriptionID) -> Int? { live[id]?.conversations.count }

    /// The users of live and waiting subscribers.
    var users: Set<ID> { Set(byUser.keys).union(waiting.values.map(\.subscriber.user)) }
}

extension Fanout {
    /// Adds a waiting subscriber.
    mutating func subscribe(user: ID, messagesPerConversation: Int) -> SubscriptionID {
        defer { nextID += 1 }
        waiting[nextID] = (Subscriber(user: user, messagesPerConversation: messagesPerConversation), nextBatch)
        return nextID
    }

    /// Makes a waiting subscriber live.
    ///
    /// - Returns: the changes that it missed since it subscribed, or nil if they were not kept: the subscriber is
    ///   removed and must resync.
    mutating func activate(_ id: SubscriptionID, from start: Feed.Start) -> [AddressedPush]? {
        guard let (waiter, from) = waiting.removeValue(forKey: id) else { return [] }
        let missed = kept.suffix(max(0, nextBatch - from))
        dropKept()
        if missed.contains(where: { $0.affectedUsers.includes(waiter.user) && !start.snapshot.covers($0.snapshot) }) {
            return nil
        }
        var subscriber = waiter
        subscriber.seen = start.snapshot
        subscriber.conversations = Set(start.conversations)
        subscriber.unseenUsers = start.unseenUsers
        live[id] = subscriber
        ahead.insert(id)
        if !start.seesPresence { presenceHidden.insert(id) }
        for user in start.unseenUsers { blockedFrom[user, default: []].insert(id) }
        byUser[subscriber.user, default: []].insert(id)
        for conversation in start.conversations { byConversation[conversation, default: []].insert(id) }
        return missed.flatMap { distribute($0, only: id) }
    }

    mutating func unsubscribe(_ id: SubscriptionID) {
        if waiting.removeValue(forKey: id) != nil { dropKept() }
        guard let subscriber = live.removeValue(forKey: id) else { return }
        ahead.remove(id)
        presenceHidden.remove(id)
        acknowledgements.remove(id)
        for user in subscriber.unseenUsers { blockedFrom.remove(id, under: user) }
        byUser.remove(id, under: subscriber.user)
        for conversation in subscriber.conversations { byConversation.remove(id, under: conversation) }
    }

    /// Removes the live subscribers for whom the batch does not contain all changes.
    ///
    /// - Returns: the removed subscribers, which must resync.
    mutating func dropAffected(by batch: ChangeBatch) -> [SubscriptionID] {
        if batch.affectedUsers.isEmpty { return [] }
        let behind = live.filter { _, subscriber in
            batch.affectedUsers.includes(subscriber.user) && !(subscriber.seen?.covers(batch.snapshot) ?? false)
        }
        for id in behind.keys { unsubscribe(id) }
        return Array(behind.keys)
    }

    /// Returns the subscribers that were removed since the last call because their part of a batch exceeds a limit. They
    /// must resync.
    mutating func takeOverflowed() -> [SubscriptionID] {
        defer { overflowed = [] }
        return overflowed
    }

    /// Drops the batches that no waiting subscriber needs.
    private mutating func dropKept() {
        let first = waiting.values.map(\.from).min() ?? nextBatch
        let dropped = max(0, kept.count - (nextBatch - first))
        keptBytes -= kept.prefix(dropped).reduce(0) { $0 + $1.heldBytes }
        kept.removeFirst(dropped)
    }

    private mutating func keep(_ batch: ChangeBatch) {
        kept.append(batch)
        keptBytes += batch.heldBytes
        guard keptBytes > maxKeptBytes else { return }
        kept = kept.map(\.withoutChanges)
        keptBytes = 0
    }
}

extension Fanout {
    /// Returns the live subscribers to whom a user's typing in a conversation is shown.
    func receivers(of notice: TypingNotice) -> Set<SubscriptionID> {
        others(in: notice.conversation, than: notice.user).subtracting(blockedFrom[notice.user] ?? [])
    }

    /// Returns the live subscribers in a conversation, without those of the given user.
    private func others(in conversation: ID, than user: ID) -> Set<SubscriptionID> {
        (byConversation[conversation] ?? []).subtracting(byUser[user] ?? [])
    }

    /// Returns those of some subscribers to whom the presence of a user is shown.
    private func seeing(_ user: ID, of subscribers: Set<SubscriptionID>) -> Set<SubscriptionID> {
        subscribers.subtracting(presenceHidden).subtracting(blockedFrom[user] ?? [])
    }
}

extension Fanout {
    /// Returns the pushes for this batch, and keeps the batch for waiting subscribers.
    mutating func distribute(_ batch: ChangeBatch) -> [AddressedPush] {
        if !waiting.isEmpty { keep(batch) }
        nextBatch += 1
        let stillAhead = ahead.filter { id in live[id]?.seen.map { !batch.snapshot.covers($0) } ?? false }
        var groups = RecipientGroups()
        for (index, change) in batch.changes.enumerated() {
            // Membership changes update the index, so the receivers are determined first.
            var receivers = receivers(of: change.fact)
            if !stillAhead.isEmpty { receivers.subtract(stillAhead) }
            groups.reserveCapacity(receivers.count)
            for id in receivers { add(change, at: index, to: id, &groups) }
            acknowledgements.record(change.fact, for: receivers, at: batch.snapshot)
        }
        for id in ahead.subtracting(stillAhead) { live[id]?.seen = nil }
        ahead = stillAhead
        return compose(groups, of: batch) + stillAhead.flatMap { distribute(batch, only: $0) }
    }

    /// Returns the pushes of a batch for a subscriber whose page may show more than the batch.
    private mutating func distribute(_ batch: ChangeBatch, only id: SubscriptionID) -> [AddressedPush] {
        var batch = batch
        let seen = live[id]?.seen
        let isAhead = seen.map { !batch.snapshot.covers($0) } ?? false
        if isAhead, let seen {
            if seen.covers(batch.snapshot) { return [] }
            // A push never moves a client's cursor back, or the client would receive changes twice.
            batch.position = Feed.Position(epoch: batch.position.epoch, snapshot: batch.snapshot.union(seen))
        }
        var groups = RecipientGroups()
        for (index, change) in batch.changes.enumerated() where receivers(of: change.fact).contains(id) {
            add(change, at: index, to: id, &groups)
            acknowledgements.record(change.fact, for: [id], at: batch.snapshot)
        }
        if !isAhead {
            live[id]?.seen = nil
            ahead.remove(id)
        }
        return compose(groups, of: batch)
    }

    /// Adds a change to a receiver's group, unless the receiver's page contained it, and updates the index.
    private mutating func add(_ change: Change, at index: Int, to id: SubscriptionID, _ groups: inout RecipientGroups) {
        if !ahead.isEmpty, let seen = live[id]?.seen, seen.sees(change.transaction) { return }
        var isOwn = false
        switch change.fact {
        case .left(let conversation, _):
            live[id]?.conversations.remove(conversation)
            byConversation.remove(id, under: conversation)
        case .joined(let conversation, let user) where live[id]?.user == user:
            live[id]?.conversations.insert(conversation)
            byConversation[conversation, default: []].insert(id)
            isOwn = true
        default: break
        }
        groups.add(index, isOwn: isOwn, to: id)
    }

    /// Returns all subscribers that may receive a change, according to the current index.
    private func receivers(of fact: Change.Fact) -> Set<SubscriptionID> {
        switch fact {
        case .left(_, let user), .me(let user, _), .ownConversation(_, let user, _), .ownReactions(_, let user, _, _),
            .ownMessage(_, let user, _, _):
            byUser[user] ?? []
        case .joined(let conversation, let user):
            (byUser[user] ?? []).union(byConversation[conversation] ?? [])
        case .profile(let user, let audience, _):
            contacts(of: user, in: audience)
        case .presence(let user, let audience, _):
            seeing(user, of: contacts(of: user, in: audience))
        case .openingPresence(let conversation, let user, _):
            seeing(user, of: others(in: conversation, than: user))
        case .conversation(let conversation, _), .message(let conversation, _, _), .read(let conversation, _, _),
            .openingMessage(let conversation, _, _), .reactions(let conversation, _, _),
            .openingReactions(let conversation, _, _), .piece(let conversation, _),
            .openingPiece(let conversation, _):
            byConversation[conversation] ?? []
        case .openingProfile(let conversation, let user, _), .delivered(let conversation, let user, _):
            others(in: conversation, than: user)
        }
    }

    private func contacts(of user: ID, in audience: [ID]) -> Set<SubscriptionID> {
        let members = audience.compactMap { byConversation[$0] }
        // Mostly the members of one conversation include those of many others.
        var contacts = members.max { $0.count < $1.count } ?? []
        for some in members { contacts.formUnion(some) }
        for own in byUser[user] ?? [] { contacts.remove(own) }
        return contacts
    }

    /// Returns the content for the subscribers that received these steps.
    private func selection(along steps: [RecipientGroups.Step], of batch: ChangeBatch) -> Selection {
        var selection = Selection()
        for step in steps { selection.add(batch.changes[step.change].fact, at: step.change, isOwn: step.isOwn) }
        return selection
    }

    /// The content for one receiver, as indices into `batch.changes`.
    private struct Selection {
        /// The part that does not depend on the receiver. It is composed once for all receivers that have no other
        /// part.
        var shared = Shared()
        var conversations: [Int] = []

        /// Conversations whose object is included.
        var included: Set<ID> = []
        var left: [ID] = []

        /// Conversations that are new to the receiver, each with its newest messages.
        var opened: [ID: [Int]] = [:]

        /// Other users who joined a conversation of the receiver.
        var newcomers: Set<ID> = []
        var profiled: Set<ID> = []
        var presented: Set<ID> = []

        /// Messages whose reactions are included.
        var reacted: Set<MessageKey> = []

        /// The receiver's own forms of messages that follow.
        var ownMessages: [MessageKey: Int] = [:]

        var isShared: Bool { conversations.isEmpty && left.isEmpty && opened.isEmpty }

        mutating func add(_ fact: Change.Fact, at index: Int, isOwn: Bool) {
            switch fact {
            case .left(let conversation, _): left.append(conversation)
            case .joined(let conversation, let user):
                if isOwn { opened[conversation] = [] } else { newcomers.insert(user) }
            case .me: shared.me = index
            case .profile(let owner, _, _): addProfile(of: owner, at: index)
            case .openingProfile(let conversation, let owner, _):
                if isNew(owner, in: conversation) { addProfile(of: owner, at: index) }
            case .presence(let owner, _, _): addPresence(of: owner, at: index)
            case .openingPresence(let conversation, let owner, _):
                if isNew(owner, in: conversation) { addPresence(of: owner, at: index) }
            case .conversation(let conversation, _):
                conversations.append(index)
                included.insert(conversation)
            case .ownConversation(let conversation, _, _):
                if included.insert(conversation).inserted { conversations.append(index) }
            case .ownMessage(let conversation, _, let seq, _):
                ownMessages[MessageKey(conversation: conversation, seq: seq)] = index
            case .message(let conversation, let seq, _):
                if opened[conversation] == nil { shared.messages.append(form(of: seq, in: conversation) ?? index) }
            case .openingMessage(let conversation, let seq, _):
                let own = form(of: seq, in: conversation)
                opened[conversation]?.append(own ?? index)
            // A user's own reactions come before those for all members.
            case .reactions(let conversation, let seq, _), .ownReactions(let conversation, _, let seq, _):
                addReactions(to: MessageKey(conversation: conversation, seq: seq), at: index)
            case .openingReactions(let conversation, let seq, _):
                if opened[conversation] != nil {
                    addReactions(to: MessageKey(conversation: conversation, seq: seq), at: index)
                }
            case .piece(let conversation, _):
                if opened[conversation] == nil { shared.pieces.append(index) }
            case .openingPiece(let conversation, _):
                if opened[conversation] != nil { shared.pieces.append(index) }
            case .read(let conversation, _, _):
                if opened[conversation] == nil { shared.reads.append(index) }
            case .delivered(let conversation, _, _):
                if opened[conversation] == nil { shared.delivered.append(index) }
            }
        }

        private func form(of seq: Int64, in conversation: ID) -> Int? {
            ownMessages.isEmpty ? nil : ownMessages[MessageKey(conversation: conversation, seq: seq)]
        }

        private func isNew(_ owner: ID, in conversation: ID) -> Bool {
            opened[conversation] != nil || newcomers.contains(owner)
        }

        private mutating func addProfile(of owner: ID, at index: Int) {
            if profiled.insert(owner).inserted { shared.profiles.append(index) }
        }

        private mutating func addReactions(to message: MessageKey, at index: Int) {
            if reacted.insert(message).inserted { shared.reactions.append(index) }
        }

        private mutating func addPresence(of owner: ID, at index: Int) {
            if presented.insert(owner).inserted { shared.presence.append(index) }
        }

        struct Shared: Hashable {
            var me: Int?
            var profiles: [Int] = []
            var presence: [Int] = []
            var messages: [Int] = []
            var pieces: [Int] = []
            var reactions: [Int] = []
            var reads: [Int] = []
            var delivered: [Int] = []

            var isEmpty: Bool {
                me == nil && profiles.isEmpty && presence.isEmpty && messages.isEmpty && pieces.isEmpty
                    && reactions.isEmpty && reads.isEmpty && delivered.isEmpty
            }
        }
    }

    /// Composes the pushes of a batch. A receiver whose push exceeds a limit is removed before it is composed: 210
    /// receivers of 20 MB each took 2.6 GB, and their connections took none of it.
    private mutating func compose(_ groups: RecipientGroups, of batch: ChangeBatch) -> [AddressedPush] {
        var alike: [Selection.Shared: [SubscriptionID]] = [:]
        var deliveries: [AddressedPush] = []
        var ownBytes = 0
        for (steps, ids) in groups.all() {
            let selection = selection(along: steps, of: batch)
            if selection.isShared {
                if !selection.shared.isEmpty { alike[selection.shared, default: []] += ids }
                continue
            }
            let sharedSize = size(of: selection.shared, in: batch)
            for ids in alikeReceivers(among: ids) {
                guard let subscriber = live[ids[0]] else { continue }
                let size = sharedSize + ownSize(of: selection, for: subscriber, in: batch)
                guard size <= maxPushBytes, ownBytes + size <= Self.maxOwnBytes else {
                    overflowed += ids
                    continue
                }
                ownBytes += size
                let push = ChangesLine.push(of: batch) { line in
                    write(selection, for: subscriber, of: batch, to: &line)
                }
                deliveries.append(AddressedPush(subscribers: ids, push: push))
            }
        }
        for (shared, ids) in alike {
            guard size(of: shared, in: batch) <= maxPushBytes else {
                overflowed += ids
                continue
            }
            let push = ChangesLine.push(of: batch) { line in
                write(Selection(shared: shared), for: nil, of: batch, to: &line)
            }
            deliveries.append(AddressedPush(subscribers: ids, push: push))
        }
        for id in overflowed { unsubscribe(id) }
        return deliveries
    }

    /// Returns the size of the larger objects that receivers share, in bytes.
    private func size(of shared: Selection.Shared, in batch: ChangeBatch) -> Int {
        [shared.profiles, shared.presence, shared.messages, shared.pieces, shared.reactions].joined()
            .reduce(0) { $0 + batch.changes[$1].fact.byteCount }
    }

    /// Returns the size of the conversations of a receiver, and of the messages of those that are new to it, in bytes.
    private func ownSize(of selection: Selection, for subscriber: Subscriber, in batch: ChangeBatch) -> Int {
        let messages = selection.opened.values.lazy.flatMap { $0.suffix(subscriber.messagesPerConversation) }
        return messages.reduce(0) { $0 + batch.changes[$1].fact.byteCount }
            + selection.conversations.reduce(0) { $0 + batch.changes[$1].fact.byteCount }
    }

    /// Returns the live subscriptions of the same user and number of messages, which receive the same pushes.
    private func alikeReceivers(among ids: [SubscriptionID]) -> some Collection<[SubscriptionID]> {
        struct Receiver: Hashable {
            let user: ID
            let messagesPerConversation: Int
        }
        var receivers: [Receiver: [SubscriptionID]] = [:]
        for id in ids {
            guard let subscriber = live[id] else { continue }
            let receiver = Receiver(
                user: subscriber.user, messagesPerConversation: subscriber.messagesPerConversation)
            receivers[receiver, default: []].append(id)
        }
        return receivers.values
    }

    /// Writes the members of a push.
    ///
    /// - Parameter subscriber: the receiver, if the content is its own; nil if several share it.
    private func write(
        _ selection: Selection, for subscriber: Subscriber?, of batch: ChangeBatch, to line: inout ChangesLine
    ) {
        var messages = selection.shared.messages
        var limited: [ID] = []
        var conversations: [ByteBuffer] = []
        for index in selection.conversations {
            if case .ownConversation(_, _, let object) = batch.changes[index].fact { conversations.append(object) }
            guard let subscriber, case .conversation(let id, let conversation) = batch.changes[index].fact,
                let object = conversation.object(for: subscriber.user)
            else { continue }
            conversations.append(object)
            if let opening = selection.opened[id] {
                let newest = opening.suffix(subscriber.messagesPerConversation)
                messages += newest
                if Int64(newest.count) < conversation.lastSeq { limited.append(id) }
            }
        }
        if let me = selection.shared.me { line.member("me", batch.changes[me].object) }
        line.list("profiles", selection.shared.profiles.lazy.map { batch.changes[$0].object })
        line.list("presence", selection.shared.presence.lazy.map { batch.changes[$0].object })
        line.list("conversations", conversations)
        line.list("messages", messages.lazy.map { batch.changes[$0].object })
        line.list("pieces", selection.shared.pieces.lazy.map { batch.changes[$0].object })
        line.list("reactions", selection.shared.reactions.lazy.map { batch.changes[$0].object })
        line.list("reads", selection.shared.reads.lazy.map { batch.changes[$0].object })
        line.list("delivered", selection.shared.delivered.lazy.map { batch.changes[$0].object })
        line.list("left", selection.left.lazy.map { ByteBuffer(string: #""\#($0)""#) })
        line.list("limited", limited.lazy.map { ByteBuffer(string: #""\#($0)""#) })
    }
}

extension Dictionary where Value == Set<Fanout.SubscriptionID> {
    /// Removes a subscription, and its key with the last one.
    fileprivate mutating func remove(_ id: Fanout.SubscriptionID, under key: Key) {
        self[key]?.remove(id)
        if self[key]?.isEmpty == true { self[key] = nil }
    }
}
