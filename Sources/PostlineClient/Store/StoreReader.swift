import Foundation
import GRDB

/// One state of the store, as the app sees it: what the server said, and over it what is on its way there.
struct StoreReader {
    let database: Database
    let userID: String

    // MARK: The user's own data

    var cursor: String? {
        get throws { try setting("cursor") }
    }

    func setting(_ name: String) throws -> String? {
        try String.fetchOne(
            database.cachedStatement(sql: "select value from setting where name = ?"), arguments: [name])
    }

    /// The user's own data as the server has them.
    func serversMe() throws -> Me? {
        try setting("me").map { try StoreJSON.decode($0) }
    }

    /// The user's own data, with the edits that wait.
    func me() throws -> Me? {
        guard let me = try serversMe() else { return nil }
        return try changes(lane: QueuedChange.ownLane).filter { $0.refusal == nil }.reduce(me) { me, change in
            try ProfileEdit.applying(change.params, to: me)
        }
    }

    /// Of whom the store knows: this user by its own data, others by what they show.
    func profiles(_ ids: some Collection<String>, me: Me?) throws -> [String: Profile] {
        var found: [String: Profile] = [:]
        let statement = try database.cachedStatement(sql: "select json from profile where id = ?")
        for id in Set(ids) {
            if id == userID, let me {
                found[id] = me.profile
            } else if let json = try String.fetchOne(statement, arguments: [id]) {
                found[id] = try StoreJSON.decode(json)
            }
        }
        return found
    }

    // MARK: The outbox

    func changes(lane: String? = nil) throws -> [QueuedChange] {
        let rows =
            if let lane {
                try Row.fetchAll(
                    database.cachedStatement(sql: "select * from change where lane = ? order by id"), arguments: [lane])
            } else {
                try Row.fetchAll(database.cachedStatement(sql: "select * from change order by id"))
            }
        return try rows.compactMap(QueuedChange.init)
    }

    // MARK: Conversations

    /// All conversations, with their people, the newest first.
    func conversations(me: Me?) throws -> [Conversation] {
        let drafts = try drafts()
        let marks = try queuedMarks()
        var members: [String: [Conversation.Member]] = [:]
        let rows = try Row.fetchCursor(
            database.cachedStatement(sql: "select * from member order by conversation_id, position"))
        while let row = try rows.next() {
            members[row["conversation_id"], default: []].append(Self.member(row))
        }
        let people = try profiles(members.values.joined().map(\.userID), me: me)
        return try Row.fetchAll(
            database.cachedStatement(
                sql: "select * from conversation order by coalesce(last_message_time, created_at) desc, id")
        ).map { row in
            let id: String = row["id"]
            let members = members[id] ?? []
            return Conversation(
                id: id, kind: .init(rawValue: row["kind"]), title: row["title"], createdBy: row["created_by"],
                members: members, people: members.compactMap { people[$0.userID] }, version: row["version"],
                lastSeq: row["last_seq"], lastMessageContent: row["last_message_content"],
                lastMessageTime: Self.date(row["last_message_time"]),
                lastMessageSenderID: row["last_message_sender_id"],
                lastReadSeq: max(row["last_read_seq"], marks[id] ?? 0),
                createdAt: Date(timeIntervalSince1970: row["created_at"]),
                updatedAt: Date(timeIntervalSince1970: row["updated_at"]), draft: drafts[id])
        }
    }

    /// What was typed and not sent, by conversation.
    func drafts() throws -> [String: String] {
        Dictionary(
            uniqueKeysWithValues: try Row.fetchAll(
                database.cachedStatement(sql: "select conversation_id, content from draft")
            ).map { ($0[0] as String, $0[1] as String) })
    }

    /// How far the user has read that the server does not know of yet.
    private func queuedMarks() throws -> [String: Int] {
        try Row.fetchAll(
            database.cachedStatement(sql: "select * from change where method = 'messages.mark_read' and refusal is null")
        ).compactMap(QueuedChange.init).reduce(into: [:]) { marks, change in
            marks[change.lane] = max(marks[change.lane] ?? 0, change.seq ?? 0)
        }
    }

    static func member(_ row: Row) -> Conversation.Member {
        Conversation.Member(
            userID: row["user_id"], role: .init(rawValue: row["role"]),
            joinedAt: Date(timeIntervalSince1970: row["joined_at"]), lastReadSeq: row["last_read_seq"])
    }

    // MARK: Messages

    /// The newest messages of a conversation that follow each other without a gap, at most `limit` of those that the
    /// server has and all that wait, the oldest first; and whether older ones are to be had, here or from the server.
    func messages(_ conversationID: String, limit: Int, me: Me?) throws -> (messages: [Message], hasOlder: Bool) {
        guard
            let row = try Row.fetchOne(
                database.cachedStatement(sql: "select first_seq, last_seq from conversation where id = ?"),
                arguments: [conversationID])
        else { return ([], false) }
        let first: Int = row["first_seq"]
        let rows = try Row.fetchAll(
            database.cachedStatement(
                sql: "select * from message where conversation_id = ? and seq >= ? order by seq desc limit ?"),
            arguments: [conversationID, first, limit])
        let changes = try changes(lane: conversationID)
        let sends = changes.filter { $0.method == .send }
        let people = try profiles(rows.map { $0["sender_id"] } + [userID], me: me)
        // As far as all others have read.
        let mark = try Int.fetchOne(
            database.cachedStatement(
                sql: "select min(last_read_seq) from member where conversation_id = ? and user_id <> ?"),
            arguments: [conversationID, userID])
        var messages = try rows.reversed().map { row in
            try message(row, people: people, isReadUpTo: mark ?? .max)
        }
        for change in changes {
            guard let seq = change.seq, let place = messages.firstIndex(where: { $0.seq == seq }) else { continue }
            switch change.method {
            case .edit:
                if change.refusal == nil { messages[place].content = change.content }
                messages[place].delivery = change.delivery
            case .delete:
                if change.refusal == nil { (messages[place].content, messages[place].attachment) = (nil, nil) }
                messages[place].delivery = change.delivery
            case .send, .markRead, .save: break
            }
        }
        messages += try sends.map { try waiting($0, sender: people[userID]) }
        return (messages, (rows.last?["seq"] ?? first) > 1 && (row["last_seq"] as Int) > 0)
    }

    private func message(_ row: Row, people: [String: Profile], isReadUpTo mark: Int) throws -> Message {
        let seq: Int = row["seq"]
        let senderID: String = row["sender_id"]
        let id: String = row["id"]
        return Message(
            id: senderID == userID ? row["client_id"] ?? id : id, conversationID: row["conversation_id"], seq: seq,
            senderID: senderID, sender: people[senderID], kind: .init(rawValue: row["kind"]),
            content: row["content"],
            attachment: try (row["attachment"] as String?).map { try StoreJSON.decode($0) }, isRead: seq <= mark,
            createdAt: Date(timeIntervalSince1970: row["created_at"]), editedAt: Self.date(row["edited_at"]),
            deletedAt: Self.date(row["deleted_at"]), delivery: .sent)
    }

    private func waiting(_ change: QueuedChange, sender: Profile?) throws -> Message {
        var kind = MessageKind.text
        if case .string(let name)? = change.params["kind"] { kind = .init(rawValue: name) }
        return Message(
            id: change.clientID ?? "\(change.id)", conversationID: change.lane, seq: nil, senderID: userID,
            sender: sender, kind: kind, content: change.content,
            attachment: try change.params["attachment"].map { try StoreJSON.decode(try StoreJSON.encode($0)) },
            isRead: false, createdAt: change.createdAt, editedAt: nil, deletedAt: nil, delivery: change.delivery)
    }

    static func date(_ seconds: Double?) -> Date? { seconds.map(Date.init(timeIntervalSince1970:)) }
}

// MARK: What is to be sent

extension StoreReader {
    /// The lanes in which something waits that was not refused.
    func waitingLanes() throws -> [String] {
        try String.fetchAll(
            database.cachedStatement(sql: "select lane from change where refusal is null group by lane order by min(id)"))
    }

    /// What is to be sent next in a lane.
    func nextChange(lane: String) throws -> QueuedChange? {
        try Row.fetchOne(
            database.cachedStatement(sql: "select * from change where lane = ? and refusal is null order by id limit 1"),
            arguments: [lane]
        ).flatMap(QueuedChange.init)
    }
}
