import GRDB

/// Applying changes, and finding the messages among them that have just arrived.
extension StoreWriter {
    /// Applies changes, and returns the messages of other users that are newer than the stored ones, the oldest first. Of
    /// more than ``ClientEvents/capacity`` it returns the newest. A reset brings none.
    func receive(_ changes: Changes) throws -> [Message] {
        let isReset = try changes.reset || reader.setting("is_resetting") != nil
        let candidates = isReset ? [] : changes.messages.filter { $0.senderID != userID }
        // The newest stored number of each conversation before these changes.
        var newest: [Conversation.ID: Int] = [:]
        for id in Set(candidates.map(\.conversationID)) { newest[id] = try contiguousRange(id)?.upperBound ?? 0 }
        try apply(changes)
        let arrived = candidates.filter { $0.seq > newest[$0.conversationID] ?? 0 }
        guard !arrived.isEmpty else { return [] }
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
            let new = Set(seqs)
            received += try reader.messages(rows.reversed(), in: id, withUnsent: false, me: me).filter {
                !$0.isMine && $0.seq.map(new.contains) == true
            }
        }
        return Array(received.sorted { $0.createdAt < $1.createdAt }.suffix(ClientEvents.capacity))
    }
}
