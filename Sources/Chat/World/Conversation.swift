internal import LineClient
internal import Messaging

/// A conversation as one member sees it.
struct Conversation: Sendable, Equatable {
    struct Member: Sendable, Equatable {
        let userID: String
        let role: String
        var lastReadSeq: Int
    }

    let id: String
    let kind: String
    let title: String?
    var members: [Member]
    let version: Int
    let createdAt: String
    /// The user's own mark.
    var lastReadSeq: Int
    var lastSeq: Int
    var lastContent: String?
    var lastTime: String?
    var lastSenderID: String?

    /// Nil where the value is no such object.
    init?(_ json: JSON) {
        guard let id = json["id"]?.stringValue, let kind = json["kind"]?.stringValue else { return nil }
        self.id = id
        self.kind = kind
        title = json["title"]?.stringValue
        members = (json["members"]?.arrayValue ?? []).compactMap { member in
            guard let userID = member["user_id"]?.stringValue else { return nil }
            return Member(
                userID: userID, role: member["role"]?.stringValue ?? "member",
                lastReadSeq: member["last_read_seq"]?.integerValue ?? 0)
        }
        version = json["version"]?.integerValue ?? 0
        createdAt = json["created_at"]?.stringValue ?? ""
        lastReadSeq = json["last_read_seq"]?.integerValue ?? 0
        lastSeq = json["last_seq"]?.integerValue ?? 0
        lastContent = json["last_message_content"]?.stringValue
        lastTime = json["last_message_time"]?.stringValue
        lastSenderID = json["last_message_sender_id"]?.stringValue
    }

    /// The messages after the user's own mark; numbers have no gap.
    var unreadCount: Int { max(0, lastSeq - lastReadSeq) }

    /// What conversations are ordered by, the greatest first.
    var lastActivity: String { lastTime ?? createdAt }

    /// The two states as one: the metadata of the greater version (of `newer` between equals), `last_*` of the
    /// greatest `last_seq`, and the greater of each mark.
    func merged(with newer: Conversation) -> Conversation {
        let (kept, other) = version > newer.version ? (self, newer) : (newer, self)
        var merged = kept
        if other.lastSeq > kept.lastSeq {
            merged.lastSeq = other.lastSeq
            merged.lastContent = other.lastContent
            merged.lastTime = other.lastTime
            merged.lastSenderID = other.lastSenderID
        }
        merged.lastReadSeq = max(kept.lastReadSeq, other.lastReadSeq)
        for index in merged.members.indices {
            guard let mark = other.mark(of: merged.members[index].userID) else { continue }
            merged.members[index].lastReadSeq = max(merged.members[index].lastReadSeq, mark)
        }
        return merged
    }

    /// A member's mark; nil for who is no member.
    func mark(of userID: String) -> Int? { members.first { $0.userID == userID }?.lastReadSeq }

    /// Moves a member's mark, never back. Tells whether it moved.
    mutating func raiseMark(of userID: String, to seq: Int) -> Bool {
        guard let index = members.firstIndex(where: { $0.userID == userID }), members[index].lastReadSeq < seq else {
            return false
        }
        members[index].lastReadSeq = seq
        return true
    }
}
