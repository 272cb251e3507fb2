import GRDB

/// Reading reactions.
extension StoreReader {
    /// Returns the reactions to the messages of a range, by number, with the pending ones of this user.
    func reactions(
        _ seqs: ClosedRange<Int>, in conversationID: Conversation.ID, changes: [QueuedChange]
    ) throws -> [Int: [Reaction]] {
        let rows = try Row.fetchCursor(
            database.cachedStatement(sql: "select * from reaction where conversation_id = ? and seq between ? and ?"),
            arguments: [conversationID.rawValue, seqs.lowerBound, seqs.upperBound])
        var found: [Int: [String: Reaction]] = [:]
        while let row = try rows.next() {
            let counts: [String: Int] = try StoreJSON.decode(row["counts"])
            let own: Set<String> = try (row["own"] as String?).map { try StoreJSON.decode($0) } ?? []
            found[row["seq"]] = Dictionary(
                uniqueKeysWithValues: counts.map {
                    ($0, Reaction(emoji: $0, count: $1, isMine: own.contains($0)))
                })
        }
        for change in changes where change.method == .react && change.refusal == nil {
            guard let seq = change.seq, let emoji = change.emoji else { continue }
            var reaction = found[seq]?[emoji] ?? Reaction(emoji: emoji, count: 0)
            let isSet = change.flag("is_set") ?? true
            if reaction.isMine != isSet { reaction.count += isSet ? 1 : -1 }
            reaction.isMine = isSet
            found[seq, default: [:]][emoji] = reaction
        }
        return found.mapValues { reactions in
            reactions.values.filter { $0.count > 0 }.sorted { ($1.count, $0.emoji) < ($0.count, $1.emoji) }
        }
    }
}
