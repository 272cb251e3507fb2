import Foundation
import GRDB

/// Applying changes from the server.
extension StoreWriter {
    /// Applies changes by the protocol's rule: an object with a lower version than the stored one is ignored
    /// (`docs/protocol.md`, section 3, Changes). After a reset, an object replaces a stored one of before the reset
    /// whatever its version, because a restored database counts versions from further back.
    func apply(_ changes: Changes) throws {
        if changes.reset { try beginReset() }
        for id in changes.left { try removeConversation(id) }
        if let me = changes.me { try apply(me) }
        // Only the first page of a sync has them. A reset without them ends all blocks.
        if let blocked = changes.blocked ?? (changes.reset ? [] : nil) { try setBlocked(blocked) }
        for profile in changes.profiles { try apply(profile) }
        for conversation in changes.conversations { try apply(conversation) }
        try apply(changes.messages)
        for piece in changes.pieces { try apply(piece) }
        for reactions in changes.reactions { try apply(reactions) }
        for read in changes.reads { try apply(read) }
        for delivered in changes.delivered { try apply(delivered) }
        for presence in changes.presence { try apply(presence) }
        if !changes.more, !changes.left.isEmpty || !changes.conversations.isEmpty { try pruneUnreferencedPresence() }
        guard let cursor = changes.cursor else { return }
        try set("cursor", cursor)
        if !changes.more { try endReset() }
    }

    /// Begins a reset. Stored objects stay until all pages have come, because the pages may be interrupted and start
    /// again.
    func beginReset() throws {
        let generation = (try reader.setting("generation").flatMap { Int($0) } ?? 0) + 1
        try set("generation", "\(generation)")
        try set("is_resetting", "true")
        try set("is_me_former", "true")
        // Messages without a conversation would not be recognized as outdated.
        for table in ["message", "reaction"] {
            try database.execute(
                sql: "delete from \(table) where conversation_id not in (select id from conversation)")
        }
    }

    /// Ends a reset and deletes the objects that did not come with it. The device's own data stays.
    func endReset() throws {
        guard try reader.setting("is_resetting") != nil else { return }
        try set("is_resetting", nil)
        let gone = try Row.fetchAll(
            database, sql: "select id from conversation where generation < ? or version < 0",
            arguments: [try generation])
        for row in gone { try deleteServerData(of: row.id("id")) }
        for table in ["presence", "profile"] {
            try database.execute(sql: "delete from \(table) where generation < ?", arguments: [try generation])
        }
    }

    var generation: Int {
        get throws { try reader.setting("generation").flatMap { Int($0) } ?? 0 }
    }

    func removeConversation(_ conversationID: Conversation.ID) throws {
        try deleteServerData(of: conversationID)
        try setDraft(nil, in: conversationID)
    }

    /// Deletes the server's data of a conversation.
    func deleteServerData(of conversationID: Conversation.ID) throws {
        for table in ["member", "message", "reaction"] {
            try database.execute(
                sql: "delete from \(table) where conversation_id = ?", arguments: [conversationID.rawValue])
        }
        try database.execute(sql: "delete from conversation where id = ?", arguments: [conversationID.rawValue])
    }

    func apply(_ me: Me) throws {
        if try reader.setting("is_me_former") != nil {
            try set("is_me_former", nil)
        } else if let held = try reader.serverMe(), held.version > me.version {
            return
        }
        try set("me", try StoreJSON.encode(me))
    }

    /// Replaces the users whom this user blocks.
    private func setBlocked(_ ids: [User.ID]) throws {
        try database.execute(sql: "delete from blocked")
        for id in ids {
            try database.cachedStatement(sql: "insert or ignore into blocked (user_id) values (?)")
                .execute(arguments: [id.rawValue])
        }
    }

    func apply(_ profile: User) throws {
        guard profile.id != userID else { return }
        try database.cachedStatement(
            sql: """
                insert into profile values (?, ?, ?, ?) on conflict do update set version = excluded.version,
                    json = excluded.json, generation = excluded.generation
                where excluded.version >= version or excluded.generation > generation
                """
        ).execute(arguments: [profile.id.rawValue, profile.version, try StoreJSON.encode(profile), try generation])
    }
}
