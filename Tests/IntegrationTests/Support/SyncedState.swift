import LineClient
import WireProtocol

/// The state of a client that follows exactly the protocol's rules (`docs/protocol.md`, section 3).
struct SyncedState: Sendable, Equatable {
    var me: JSON?

    /// The users whom the user blocks.
    var blocked: [String] = []
    var profiles: [String: JSON] = [:]
    /// The presence of users who share a conversation.
    var presence: [String: JSON] = [:]
    var conversations: [String: JSON] = [:]
    var messages: [String: [Int: JSON]] = [:]

    /// Each member's read mark, by conversation.
    var marks: [String: [String: Int]] = [:]

    /// Each other member's delivered mark, by conversation, and what they have read.
    var delivered: [String: [String: Int]] = [:]
    var limited: Set<String> = []

    /// The seqs as received, by conversation, which reveal gaps and duplicates.
    var arrivals: [String: [Int]] = [:]

    mutating func apply(_ changes: JSON) {
        if changes["reset"] == true { self = SyncedState() }
        for id in changes["left"]?.arrayValue?.compactMap(\.stringValue) ?? [] {
            conversations[id] = nil
            messages[id] = nil
            marks[id] = nil
            delivered[id] = nil
            limited.remove(id)
        }
        if let ids = changes["blocked"]?.arrayValue { blocked = ids.compactMap(\.stringValue) }
        if let new = changes["me"], new.version >= me?.version ?? 0 { me = new }
        for profile in changes["profiles"]?.arrayValue ?? [] {
            guard let id = profile["id"]?.stringValue, profile.version >= profiles[id]?.version ?? 0 else { continue }
            profiles[id] = profile
        }
        for conversation in changes["conversations"]?.arrayValue ?? [] {
            guard let id = conversation["id"]?.stringValue else { continue }
            for member in conversation["members"]?.arrayValue ?? [] {
                mark(id, member["user_id"]?.stringValue, member["last_read_seq"]?.integerValue)
                noteDelivered(id, member)
            }
            guard conversation.version >= conversations[id]?.version ?? 0 else { continue }
            conversations[id] = conversation
            let kept = conversation["first_seq"]?.integerValue ?? 1
            messages[id] = messages[id]?.filter { $0.key >= kept }
        }
        for message in changes["messages"]?.arrayValue ?? [] {
            guard let id = message["conversation_id"]?.stringValue, let seq = message["seq"]?.integerValue else {
                continue
            }
            if message["version"] == 1 { arrivals[id, default: []].append(seq) }
            mark(id, message["sender_id"]?.stringValue, message["version"] == 1 ? seq : 0)
            guard message.version >= messages[id]?[seq]?.version ?? 0 else { continue }
            messages[id, default: [:]][seq] = message
        }
        for read in changes["reads"]?.arrayValue ?? [] {
            guard let id = read["conversation_id"]?.stringValue else { continue }
            mark(id, read["user_id"]?.stringValue, read["last_read_seq"]?.integerValue)
        }
        for mark in changes["delivered"]?.arrayValue ?? [] {
            if let id = mark["conversation_id"]?.stringValue { noteDelivered(id, mark) }
        }
        for id in changes["limited"]?.arrayValue?.compactMap(\.stringValue) ?? [] { limited.insert(id) }
        for presence in changes["presence"]?.arrayValue ?? [] {
            if let id = presence["user_id"]?.stringValue { self.presence[id] = presence }
        }
        if changes["more"] == false, !presence.isEmpty { pruneUnreferencedProfiles() }
    }

    /// Removes users without a shared conversation, who are no longer updated.
    private mutating func pruneUnreferencedProfiles() {
        let members = conversations.values.flatMap { $0["members"]?.arrayValue ?? [] }
        let known = Set(members.compactMap { $0["user_id"]?.stringValue })
        presence = presence.filter { known.contains($0.key) }
    }

    /// Returns true if the user is shown as online.
    func showsOnline(_ person: Person) -> Bool { presence[person.id]?["is_online"] == true }

    private mutating func mark(_ conversation: String, _ user: String?, _ seq: Int?) {
        guard let user, let seq else { return }
        marks[conversation, default: [:]][user] = max(seq, marks[conversation]?[user] ?? 0)
    }

    private mutating func noteDelivered(_ conversation: String, _ mark: JSON) {
        guard let user = mark["user_id"]?.stringValue, let seq = mark["last_delivered_seq"]?.integerValue else {
            return
        }
        delivered[conversation, default: [:]][user] = max(seq, delivered[conversation]?[user] ?? 0)
    }

    /// Returns up to which message another member has received a conversation.
    func lastDelivered(to person: Person, in conversation: String) -> Int {
        max(delivered[conversation]?[person.id] ?? 0, marks[conversation]?[person.id] ?? 0)
    }

    /// Returns the sender of a message as a client shows it: the newest profile of `sender_id`.
    func sender(of message: JSON) -> JSON? {
        guard let id = message["sender_id"]?.stringValue else { return nil }
        return me?["id"]?.stringValue == id ? me : profiles[id] ?? message["sender"]
    }

    /// Returns the contents of a conversation's messages by seq.
    func contents(_ conversation: String) -> [String] {
        (messages[conversation] ?? [:]).sorted { $0.key < $1.key }.map { $0.value["content"]?.stringValue ?? "" }
    }

    func has(_ content: String, in conversation: String) -> Bool {
        messages[conversation]?.values.contains { $0["content"]?.stringValue == content } ?? false
    }
}

extension JSON {
    fileprivate var version: Int { self["version"]?.integerValue ?? 0 }
}
