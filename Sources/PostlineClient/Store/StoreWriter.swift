import Foundation
import GRDB

/// Changes the store within one transaction, and notes what it has touched.
struct StoreWriter {
    let reader: StoreReader
    private(set) var touched = Store.Touched()

    private var database: Database { reader.database }
    private var userID: String { reader.userID }

    init(reader: StoreReader) { self.reader = reader }

    // MARK: What the server says

    /// Takes in what the server says, by the protocol's rule: what is older than what is here changes nothing
    /// (`docs/protocol.md`, section 3, Changes).
    mutating func apply(_ changes: Changes) throws {
        if changes.reset { try beginReset() }
        for id in changes.left { try leave(id) }
        if let me = changes.me { try apply(me) }
        for profile in changes.profiles { try apply(profile) }
        for conversation in changes.conversations { try apply(conversation) }
        try apply(changes.messages)
        for read in changes.reads { try apply(read) }
        guard let cursor = changes.cursor else { return }
        try set("cursor", cursor)
        if !changes.more { try endReset() }
    }

    /// A whole world comes. What is here stays until all of it has come, and so does what it does not have: the pages may
    /// be cut off, and begin anew.
    private mutating func beginReset() throws {
        let generation = (try reader.setting("generation").flatMap { Int($0) } ?? 0) + 1
        try set("generation", "\(generation)")
        try set("is_resetting", "true")
    }

    /// The world has come: what did not come with it is no part of it any more.
    private mutating func endReset() throws {
        guard try reader.setting("is_resetting") != nil else { return }
        try database.execute(sql: "delete from setting where name = 'is_resetting'")
        let gone = try String.fetchAll(
            database, sql: "select id from conversation where generation < ?", arguments: [try generation])
        for id in gone { try leave(id) }
    }

    private var generation: Int {
        get throws { try reader.setting("generation").flatMap { Int($0) } ?? 0 }
    }

    func set(_ name: String, _ value: String) throws {
        try database.cachedStatement(
            sql: "insert into setting values (?, ?) on conflict do update set value = excluded.value"
        ).execute(arguments: [name, value])
    }

    private mutating func leave(_ conversationID: String) throws {
        for table in ["member", "message", "draft"] {
            try database.execute(sql: "delete from \(table) where conversation_id = ?", arguments: [conversationID])
        }
        try database.execute(sql: "delete from conversation where id = ?", arguments: [conversationID])
        touched.conversations.insert(conversationID)
    }

    mutating func apply(_ me: Me) throws {
        if let held = try reader.serversMe(), held.version > me.version { return }
        try set("me", try StoreJSON.encode(me))
        touched.me = true
        touched.profiles.insert(userID)
    }

    mutating func apply(_ profile: Profile) throws {
        guard profile.id != userID else { return }
        try database.cachedStatement(
            sql: """
                insert into profile values (?, ?, ?) on conflict do update set version = excluded.version, json = excluded.json
                where excluded.version >= version
                """
        ).execute(arguments: [profile.id, profile.version, try StoreJSON.encode(profile)])
        if database.changesCount > 0 { touched.profiles.insert(profile.id) }
    }

    mutating func apply(_ conversation: WireConversation) throws {
        touched.conversations.insert(conversation.id)
        for profile in conversation.profiles ?? [] { try apply(profile) }
        guard let held = try renewed(conversation.id) else {
            try database.cachedStatement(
                sql: "insert into conversation values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
            ).execute(arguments: [
                conversation.id, conversation.kind.rawValue, conversation.title, conversation.createdBy,
                conversation.version,
                // Nothing is here yet: what comes begins after the newest.
                try heldRange(conversation.id)?.lowerBound ?? conversation.lastSeq + 1,
                conversation.lastSeq, conversation.lastMessageContent,
                conversation.lastMessageTime?.timeIntervalSince1970, conversation.lastMessageSenderID,
                conversation.lastReadSeq, conversation.createdAt.timeIntervalSince1970,
                conversation.updatedAt.timeIntervalSince1970, try generation,
            ])
            return try setMembers(conversation)
        }
        if conversation.lastSeq >= held.lastSeq {
            try database.execute(
                sql: """
                    update conversation set last_seq = ?, last_message_content = ?, last_message_time = ?,
                        last_message_sender_id = ? where id = ?
                    """,
                arguments: [
                    conversation.lastSeq, conversation.lastMessageContent,
                    conversation.lastMessageTime?.timeIntervalSince1970, conversation.lastMessageSenderID,
                    conversation.id,
                ])
        }
        try mark(conversation.id, conversation.lastReadSeq)
        guard conversation.version >= held.version else { return }
        try database.execute(
            sql: "update conversation set title = ?, version = ?, updated_at = ? where id = ?",
            arguments: [
                conversation.title, conversation.version, conversation.updatedAt.timeIntervalSince1970,
                conversation.id,
            ])
        try setMembers(conversation)
    }

    /// What is held of a conversation; of one from before a reset nothing but the row.
    private mutating func renewed(_ id: String) throws -> (version: Int, lastSeq: Int)? {
        guard
            let row = try Row.fetchOne(
                database.cachedStatement(sql: "select version, last_seq, generation from conversation where id = ?"),
                arguments: [id])
        else { return nil }
        if row["generation"] as Int != (try generation) {
            // What was edited or deleted while nobody looked is not told of after a reset.
            try database.execute(sql: "delete from message where conversation_id = ?", arguments: [id])
            try database.execute(
                sql: "update conversation set generation = ?, first_seq = last_seq + 1 where id = ?",
                arguments: [try generation, id])
        }
        return (row["version"], row["last_seq"])
    }

    /// Sets the members; a mark that is here and further on stays.
    private func setMembers(_ conversation: WireConversation) throws {
        let marks = try Row.fetchAll(
            database.cachedStatement(sql: "select user_id, last_read_seq from member where conversation_id = ?"),
            arguments: [conversation.id]
        ).reduce(into: [String: Int]()) { $0[$1["user_id"]] = $1["last_read_seq"] }
        try database.execute(sql: "delete from member where conversation_id = ?", arguments: [conversation.id])
        let insert = try database.cachedStatement(sql: "insert or replace into member values (?, ?, ?, ?, ?, ?)")
        for (position, member) in conversation.members.enumerated() {
            try insert.execute(arguments: [
                conversation.id, member.userID, position, member.role.rawValue, member.joinedAt.timeIntervalSince1970,
                max(member.lastReadSeq, marks[member.userID] ?? 0),
            ])
        }
    }

    mutating func apply(_ read: WireRead) throws {
        try database.execute(
            sql: "update member set last_read_seq = max(last_read_seq, ?) where conversation_id = ? and user_id = ?",
            arguments: [read.lastReadSeq, read.conversationID, read.userID])
        if read.userID == userID { try mark(read.conversationID, read.lastReadSeq) }
        touched.conversations.insert(read.conversationID)
    }

    private func mark(_ conversationID: String, _ seq: Int) throws {
        try database.execute(
            sql: "update conversation set last_read_seq = max(last_read_seq, ?) where id = ?",
            arguments: [seq, conversationID])
    }

    /// Takes in messages, of any conversations and in any order.
    mutating func apply(_ messages: [WireMessage]) throws {
        for (conversationID, messages) in Dictionary(grouping: messages, by: \.conversationID) {
            _ = try renewed(conversationID)
            let held = try heldRange(conversationID)
            for message in messages { try insert(message) }
            try joinUp(conversationID, held: held)
            touched.conversations.insert(conversationID)
        }
    }

    private mutating func insert(_ message: WireMessage) throws {
        try database.cachedStatement(
            sql: """
                insert into message values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                on conflict do update set content = excluded.content, attachment = excluded.attachment,
                    version = excluded.version, edited_at = excluded.edited_at, deleted_at = excluded.deleted_at
                where excluded.version >= version
                """
        ).execute(arguments: [
            message.conversationID, message.seq, message.id, message.senderID, message.clientID, message.kind.rawValue,
            message.content, try message.attachment.map(StoreJSON.encode), message.version,
            message.createdAt.timeIntervalSince1970, message.editedAt?.timeIntervalSince1970,
            message.deletedAt?.timeIntervalSince1970,
        ])
        guard database.changesCount > 0 else { return }
        try database.cachedStatement(
            sql: """
                update conversation set last_seq = ?, last_message_content = ?, last_message_time = ?,
                    last_message_sender_id = ? where id = ? and last_seq <= ?
                """
        ).execute(arguments: [
            message.seq, message.content.map(Self.preview), message.createdAt.timeIntervalSince1970, message.senderID,
            message.conversationID, message.seq,
        ])
        guard message.senderID == userID else { return }
        // Who sends has read what was there, and what is here is not on its way any more.
        try mark(message.conversationID, message.seq)
        if let clientID = message.clientID { try removeSend(clientID) }
    }

    private static func preview(_ content: String) -> String {
        var preview = String.UnicodeScalarView()
        preview.append(contentsOf: content.unicodeScalars.prefix(200))
        return String(preview)
    }

    /// The first and the last of the messages that follow each other up to the newest; nil where there are none.
    private func heldRange(_ conversationID: String) throws -> ClosedRange<Int>? {
        guard
            let last = try Int.fetchOne(
                database.cachedStatement(sql: "select max(seq) from message where conversation_id = ?"),
                arguments: [conversationID])
        else { return nil }
        let first = try Int.fetchOne(
            database.cachedStatement(sql: "select first_seq from conversation where id = ?"), arguments: [conversationID])
        return min(first ?? last, last)...last
    }

    /// Finds anew from where on nothing is missing: down from the newest for as long as each is here. What was known to be
    /// whole is skipped.
    private func joinUp(_ conversationID: String, held: ClosedRange<Int>?) throws {
        guard var first = try heldRange(conversationID)?.upperBound else { return }
        let below = try database.cachedStatement(
            sql: "select seq from message where conversation_id = ? and seq < ? order by seq desc")
        func descend(until isKnown: (Int) -> Bool) throws {
            let seqs = try Int.fetchCursor(below, arguments: [conversationID, first])
            while !isKnown(first), let seq = try seqs.next(), seq == first - 1 { first = seq }
        }
        try descend { held?.contains($0) == true }
        if let held, held.contains(first) {
            first = held.lowerBound
            try descend { _ in false }
        }
        try database.execute(
            sql: "update conversation set first_seq = ? where id = ?", arguments: [first, conversationID])
    }

    // MARK: The outbox

    /// Puts a call into the outbox.
    @discardableResult
    mutating func enqueue(
        _ method: QueuedChange.Method, lane: String, _ params: [String: JSONValue], clientID: String? = nil
    ) throws -> Int64 {
        if method == .markRead {
            // A later mark says it all.
            try database.execute(
                sql: "delete from change where method = 'messages.mark_read' and lane = ? and refusal is null",
                arguments: [lane])
        }
        try database.execute(
            sql: "insert into change (lane, method, params, client_id, created_at) values (?, ?, ?, ?, ?)",
            arguments: [lane, method.rawValue, try StoreJSON.encode(params), clientID, Date().timeIntervalSince1970])
        touch(lane: lane)
        return database.lastInsertedRowID
    }

    /// Takes a call out of the outbox: it is done, or not wanted any more.
    mutating func remove(_ change: QueuedChange) throws {
        try database.execute(sql: "delete from change where id = ?", arguments: [change.id])
        touch(lane: change.lane)
    }

    /// Notes that the server refused a call, or, with nil, that it is to be tried again.
    mutating func refuse(_ change: QueuedChange, _ error: PostlineError?) throws {
        try database.execute(
            sql: "update change set refusal = ? where id = ?", arguments: [try error.map(StoreJSON.encode), change.id])
        touch(lane: change.lane)
    }

    /// Takes over what a guest's file still has to send. Of the guest's data only what this user has none of is saved.
    mutating func takeOver(_ changes: [QueuedChange], _ drafts: [String: String]) throws {
        let me = try reader.serversMe()
        for change in changes {
            var params = change.params
            if change.method == .save, let me {
                params = try ProfileEdit.filling(params, in: me)
                if params.isEmpty { continue }
            }
            try database.execute(
                sql: """
                    insert or ignore into change (lane, method, params, client_id, refusal, created_at)
                    values (?, ?, ?, ?, ?, ?)
                    """,
                arguments: [
                    change.lane, change.method.rawValue, try StoreJSON.encode(params), change.clientID,
                    try change.refusal.map(StoreJSON.encode), change.createdAt.timeIntervalSince1970,
                ])
        }
        for (conversationID, content) in drafts { try setDraft(content, in: conversationID) }
        touched.outbox = true
    }

    private mutating func removeSend(_ clientID: String) throws {
        try database.cachedStatement(sql: "delete from change where client_id = ?").execute(arguments: [clientID])
        if database.changesCount > 0 { touched.outbox = true }
    }

    private mutating func touch(lane: String) {
        touched.outbox = true
        if lane == QueuedChange.ownLane {
            touched.me = true
            touched.profiles.insert(userID)
        } else {
            touched.conversations.insert(lane)
        }
    }

    // MARK: Drafts

    mutating func setDraft(_ content: String?, in conversationID: String) throws {
        if let content, !content.isEmpty {
            try database.execute(
                sql: "insert into draft values (?, ?) on conflict do update set content = excluded.content",
                arguments: [conversationID, content])
        } else {
            try database.execute(sql: "delete from draft where conversation_id = ?", arguments: [conversationID])
        }
        touched.conversations.insert(conversationID)
    }
}
