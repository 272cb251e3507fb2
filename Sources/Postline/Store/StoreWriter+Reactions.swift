import GRDB

/// Applying reactions.
extension StoreWriter {
    /// Applies the reactions to a message. A push of another user's reaction leaves this user's own as they are.
    func apply(_ reactions: WireReactions) throws {
        _ = try resetIfStale(reactions.conversationID)
        try database.cachedStatement(
            sql: """
                insert into reaction values (?, ?, ?, ?, ?)
                on conflict do update set version = excluded.version, counts = excluded.counts,
                    own = coalesce(excluded.own, own)
                where excluded.version >= version
                """
        ).execute(arguments: [
            reactions.conversationID.rawValue, reactions.seq, reactions.version,
            try StoreJSON.encode(reactions.counts), try reactions.own.map(StoreJSON.encode),
        ])
    }
}
