import GRDB

/// Messages that have just arrived.
struct ReceivedMessages: Sendable {
    var messages: [Message] = []
    /// The numbers of messages before them that the server has left out, by conversation.
    var skipped: [Conversation.ID: Int] = [:]
}

/// Applying changes, and finding the messages among them that have just arrived.
extension StoreWriter {
    /// Applies changes of a sync or a push, and returns the messages of other users that have not come by either
    /// before, the oldest first. Of more than ``ClientEvents/capacity`` it returns the newest. A reset brings none, and
    /// hidden messages of blocked users are left out.
    func receive(_ changes: Changes) throws -> ReceivedMessages {
        let isReset = try changes.reset || reader.setting("is_resetting") != nil
        let newest = Dictionary(changes.messages.map { ($0.conversationID, $0.seq) }, uniquingKeysWith: max)
        let before = try isReset ? [:] : Dictionary(uniqueKeysWithValues: newest.keys.map { ($0, try receivedSeq($0)) })
        try apply(changes)
        for (id, seq) in newest { try advanceReceivedSeq(of: id, to: seq) }
        if isReset {
            for conversation in changes.conversations {
                try advanceReceivedSeq(of: conversation.id, to: conversation.lastSeq)
            }
        }
        let new = changes.messages.filter { message in
            before[message.conversationID].map { message.seq > $0 } == true
        }
        let arrived = new.filter { $0.senderID != userID }
        var result = ReceivedMessages()
        // A sync has at most the newest 100 messages of a conversation.
        for (id, first) in Dictionary(new.map { ($0.conversationID, $0.seq) }, uniquingKeysWith: min) {
            if let last = before[id], last > 0, first > last + 1 { result.skipped[id] = first - last - 1 }
        }
        guard !arrived.isEmpty else { return result }
        let me = try reader.me()
        var received: [Message] = []
        for (id, seqs) in Dictionary(grouping: arrived, by: \.conversationID).mapValues({ $0.map(\.seq) }) {
            let rows = try Row.fetchAll(
                database.cachedStatement(
                    sql: """
                        select m.* from message m
                        where m.conversation_id = ? and m.seq between ? and ?
                        order by m.seq desc limit ?
                        """),
                arguments: [id.rawValue, seqs.min(), seqs.max(), ClientEvents.capacity])
            let seqs = Set(seqs)
            received += try reader.messages(rows.reversed(), in: id, withUnsent: false, me: me).filter {
                !$0.isMine && !$0.isBlocked && $0.seq.map(seqs.contains) == true
            }
        }
        result.messages = Array(received.sorted { $0.createdAt < $1.createdAt }.suffix(ClientEvents.capacity))
        return result
    }

    /// Returns the number of the newest message that came by a sync or a push, or 0.
    private func receivedSeq(_ id: Conversation.ID) throws -> Int {
        try Int.fetchOne(
            database.cachedStatement(sql: "select received_seq from conversation where id = ?"),
            arguments: [id.rawValue]) ?? 0
    }

    private func advanceReceivedSeq(of id: Conversation.ID, to seq: Int) throws {
        try database.cachedStatement(
            sql: "update conversation set received_seq = ?1 where id = ?2 and received_seq < ?1"
        ).execute(arguments: [seq, id.rawValue])
    }
}
