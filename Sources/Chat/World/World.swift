/// Everything that this user may see and this client was told, kept true by `Changes`.
///
/// Applying one Changes twice, or after a newer one, changes nothing (`docs/protocol.md`, section 3).
struct World: Sendable, Equatable {
    /// The user's own data, once they have come.
    private(set) var me: Me?
    private(set) var people: [String: Person] = [:]
    private(set) var conversations: [String: Conversation] = [:]
    /// The newest messages of each conversation, ascending by `seq`; what stands before them is to be fetched.
    private(set) var messages: [String: [Message]] = [:]

    /// What a person would notice of a change.
    enum Event: Sendable, Equatable {
        /// Everything that was known before is void.
        case reset
        case message(Message)
        /// There are so many new messages that only the newest were told.
        case skipped(conversationID: String, count: Int)
        /// A message was edited or deleted.
        case changed(Message)
        case renamed(userID: String, from: String, to: String)
        /// Somebody goes by another username, or has a first one.
        case newUsername(userID: String, to: String)
        case newAvatar(userID: String)
        case joined(conversationID: String)
        case left(conversationID: String, name: String)
        case retitled(conversationID: String, from: String)
        case read(Changes.Read)
    }

    /// Takes in a Changes; what is known already, or older than what is known, is left out of the answer.
    mutating func apply(_ changes: Changes) -> [Event] {
        var events: [Event] = []
        if changes.reset {
            self = World()
            events.append(.reset)
        }
        if let me = changes.me {
            events += take(me)
        }
        // `left` before `conversations`: who was put out and taken in again is in.
        for id in changes.left where conversations[id] != nil {
            events.append(.left(conversationID: id, name: name(ofConversation: id)))
            conversations[id] = nil
            messages[id] = nil
        }
        for person in changes.profiles { events += take(person) }
        for conversation in changes.conversations { events += take(conversation) }
        for message in changes.messages { events += take(message) }
        for read in changes.reads { events += take(read) }
        for id in changes.limited {
            guard let event = closeGap(in: id) else { continue }
            // Said before what follows the gap.
            let place = events.firstIndex { if case .message(let new) = $0 { new.conversationID == id } else { false } }
            events.insert(event, at: place ?? events.endIndex)
        }
        return events
    }

    /// Takes in older messages that were fetched, if they stand right before those that are held.
    mutating func applyOlder(_ older: [Message], of conversationID: String) {
        let first = messages[conversationID]?.first?.seq
        guard let last = older.last?.seq, first == nil || first == last + 1 else { return }
        for message in older where message.conversationID == conversationID { _ = take(message) }
    }

    /// Of more news than it tells, a Changes has the newest: what was held before is let go, to be fetched again from
    /// the gap backwards.
    private mutating func closeGap(in conversationID: String) -> Event? {
        guard let held = messages[conversationID], var start = held.indices.last else { return nil }
        while start > 0, held[start - 1].seq == held[start].seq - 1 { start -= 1 }
        guard start > 0 else { return nil }
        messages[conversationID] = Array(held[start...])
        return .skipped(conversationID: conversationID, count: held[start].seq - held[start - 1].seq - 1)
    }

    /// Takes in a conversation that was answered, and the people in it.
    mutating func apply(_ conversation: Conversation, people: [Person]) -> [Event] {
        people.flatMap { take($0) } + take(conversation)
    }

    /// Takes in a message that was answered.
    mutating func apply(_ message: Message) -> [Event] { take(message) }

    /// Takes in the user's own data that were answered.
    mutating func apply(_ me: Me) -> [Event] { take(me) }

    /// Takes in a read mark that was answered.
    mutating func apply(_ read: Changes.Read) -> [Event] { take(read) }

    var myID: String? { me?.person.id }

    /// The conversations, the one with the newest message first.
    var ordered: [Conversation] {
        conversations.values.sorted {
            $0.lastActivity != $1.lastActivity ? $0.lastActivity > $1.lastActivity : $0.id < $1.id
        }
    }

    /// A user's name as of now.
    func name(of userID: String) -> String { people[userID]?.name ?? "(somebody)" }

    /// A group's title, or the other one's name.
    func name(ofConversation id: String) -> String {
        guard let conversation = conversations[id] else { return "(conversation)" }
        if let title = conversation.title { return title }
        if let other = conversation.members.first(where: { $0.userID != myID }) { return name(of: other.userID) }
        return conversation.kind == "group" ? "(group)" : "(nobody)"
    }

    /// Whether every other member's mark has reached the message.
    func isReadByAll(_ message: Message) -> Bool {
        guard let conversation = conversations[message.conversationID] else { return false }
        let others = conversation.members.filter { $0.userID != message.senderID }
        return !others.isEmpty && others.allSatisfy { $0.lastReadSeq >= message.seq }
    }

    private mutating func take(_ me: Me) -> [Event] {
        if me.person.id != myID || me.person.version >= self.me?.person.version ?? 0 { self.me = me }
        return take(me.person)
    }

    private mutating func take(_ person: Person) -> [Event] {
        guard let held = people[person.id] else {
            people[person.id] = person
            return []
        }
        guard person.version >= held.version else { return [] }
        let person = held.replaced(by: person)
        people[person.id] = person
        var events: [Event] = []
        if person.name != held.name { events.append(.renamed(userID: person.id, from: held.name, to: person.name)) }
        // Of the deleted nothing is left, which their name says.
        guard person.isDeleted != true else { return events }
        if let username = person.username, username != held.username {
            events.append(.newUsername(userID: person.id, to: username))
        }
        if person.avatar != held.avatar { events.append(.newAvatar(userID: person.id)) }
        return events
    }

    private mutating func take(_ conversation: Conversation) -> [Event] {
        guard let held = conversations[conversation.id] else {
            conversations[conversation.id] = conversation
            return [.joined(conversationID: conversation.id)]
        }
        let before = name(ofConversation: conversation.id)
        conversations[conversation.id] = held.merged(with: conversation)
        guard held.title != nil, name(ofConversation: conversation.id) != before else { return [] }
        return [.retitled(conversationID: conversation.id, from: before)]
    }

    private mutating func take(_ message: Message) -> [Event] {
        // A message of a conversation that the user is not in is one that came late.
        guard var conversation = conversations[message.conversationID] else { return [] }
        var events: [Event] = []
        if let sender = message.sender { events += take(sender) }
        var held = messages[message.conversationID] ?? []
        var index = held.endIndex
        while index > held.startIndex, held[index - 1].seq >= message.seq { index -= 1 }
        if index < held.endIndex, held[index].seq == message.seq {
            guard message.version > held[index].version else { return events }
            held[index] = message
            events.append(.changed(message))
        } else {
            held.insert(message, at: index)
            // Below what the conversation had already, it is history and no news.
            if message.seq > conversation.lastSeq || index == held.count - 1 { events.append(.message(message)) }
        }
        messages[message.conversationID] = held
        if message.seq >= conversation.lastSeq {
            conversation.lastSeq = message.seq
            conversation.lastContent = message.isDeleted ? nil : message.content
            conversation.lastTime = message.createdAt
            conversation.lastSenderID = message.senderID
        }
        // Sending moves the sender's own mark.
        _ = conversation.raiseMark(of: message.senderID, to: message.seq)
        if message.senderID == myID { conversation.lastReadSeq = max(conversation.lastReadSeq, message.seq) }
        conversations[message.conversationID] = conversation
        return events
    }

    private mutating func take(_ read: Changes.Read) -> [Event] {
        guard var conversation = conversations[read.conversationID] else { return [] }
        let moved = conversation.raiseMark(of: read.userID, to: read.lastReadSeq)
        if read.userID == myID { conversation.lastReadSeq = max(conversation.lastReadSeq, read.lastReadSeq) }
        conversations[read.conversationID] = conversation
        return moved ? [.read(read)] : []
    }
}
