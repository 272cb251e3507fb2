import BoundedWait
import Foundation
import Postline

extension ClientProcess {
    /// Waits until the program shows exactly what the database has for its user, with nothing pending.
    ///
    /// - Parameter discardsRefused: True to discard refused changes first. A message whose edit was refused shows that.
    mutating func waitUntilEqual(to database: TestDatabase, discardsRefused: Bool = false) async throws {
        var shown = JSONValue.null
        var kept = JSONValue.null
        do {
            var process = self
            try await eventually("a \(library) client to equal the database") {
                do {
                    shown = try await process.request("state")
                } catch let failure as Failure where ["offline", "unavailable", "timeout"].contains(failure.code) {
                    // Older messages cannot be loaded now.
                    return false
                }
                if discardsRefused, shown["refused"] != [] { try await process.request("discard") }
                guard shown["live"] == true, shown["pending"] == 0, let id = shown["me"]?["id"]?.text else {
                    return false
                }
                kept = try await Self.kept(for: id, in: database)
                let blocked = try await database.column(
                    "select blocked_id from blocks where blocker_id = '\(id)' order by blocked_at, blocked_id")
                return Self.sorted(shown["conversations"]) == kept
                    && shown["blocked"] == .array(blocked.compactMap { $0.map { .string($0) } })
            }
            self = process
        } catch let error as TimeoutError {
            throw TimeoutError(description: "\(error.description): \(shown.json)\nbut: \(kept.json)\n\(errors)")
        }
    }

    private static func sorted(_ conversations: JSONValue?) -> JSONValue? {
        guard case .array(let elements)? = conversations else { return nil }
        return .array(elements.sorted { ($0["id"]?.text ?? "") < ($1["id"]?.text ?? "") })
    }

    /// Returns the conversations of a user in the order of their ids.
    private static func kept(for userID: String, in database: TestDatabase) async throws -> JSONValue {
        let json = try await database.value(
            """
            select coalesce(jsonb_agg(jsonb_build_object(
                'id', c.id, 'title', c.title, 'unread', c.last_seq - m.last_read_seq, 'last_seq', c.last_seq,
                'unread_mentions', app.unread_mentions(c.id, m.user_id, m.last_read_seq),
                'is_marked_unread', coalesce(s.marked_unread_seq >= m.last_read_seq, false),
                'is_archived', s.archived_at is not null, 'is_pinned', s.pinned_at is not null,
                'pinned_seqs', coalesce(to_jsonb(c.pinned_seqs), '[]'), 'data', c.data,
                'is_blocked', c.kind = 'direct' and exists (select from conversation_members o
                    where o.conversation_id = c.id and o.user_id = any (b.ids)),
                'is_last_message_blocked', coalesce(c.kind <> 'direct' and c.last_message_sender_id = any (b.ids)
                    and (select x.kind from messages x where x.conversation_id = c.id and x.seq = c.last_seq)
                        <> 'system', false),
                'members', (select jsonb_agg(jsonb_build_object('id', p.id, 'full_name', p.full_name, 'bio', p.bio)
                    order by p.id::text)
                    from conversation_members o join user_profiles p on p.id = o.user_id
                    where o.conversation_id = c.id),
                'messages', (select coalesce(jsonb_agg(jsonb_build_object(
                    'seq', x.seq, 'sender', x.sender_id, 'kind', x.kind,
                    'streaming', app.is_streaming(x.conversation_id, x.seq),
                    'content', coalesce(app.stream_text(x.conversation_id, x.seq), x.content),
                    'attachments', (select coalesce(jsonb_agg(jsonb_build_object(
                            'name', a.value -> 'name', 'mime_type', a.value -> 'mime_type',
                            'bytes', a.value -> 'bytes', 'duration_ms', a.value -> 'duration_ms') order by a.place), '[]')
                        from jsonb_array_elements(app.attachments(x.attachment)) with ordinality a (value, place)),
                    'deleted', x.deleted_at is not null,
                    'edited', x.edited_at is not null, 'delivery', 'sent',
                    'blocked', c.kind <> 'direct' and x.kind <> 'system' and x.sender_id = any (b.ids),
                    'reply_to', case when x.reply_to_seq < c.first_seq
                        then jsonb_build_object('seq', x.reply_to_seq, 'content', null, 'blocked', false)
                        else (select jsonb_build_object('seq', q.seq, 'content', left(q.content, 100),
                            'blocked', c.kind <> 'direct' and q.kind <> 'system' and q.sender_id = any (b.ids))
                        from messages q where q.conversation_id = x.conversation_id and q.seq = x.reply_to_seq) end,
                    'mentions', (select coalesce(jsonb_agg(u order by u::text), '[]') from unnest(x.mentions) as u),
                    'mentions_everyone', coalesce(x.mentions_everyone, false), 'data', x.data,
                    'reactions', (select coalesce(jsonb_agg(jsonb_build_object('emoji', k.key, 'count', k.value,
                            'own', exists (select from message_reactions o
                                where o.conversation_id = x.conversation_id and o.seq = x.seq
                                and o.user_id = m.user_id and o.emoji = k.key and o.is_set))
                            order by k.key collate "C"), '[]')
                        from reaction_counts r, jsonb_each(r.counts) k
                        where r.conversation_id = x.conversation_id and r.seq = x.seq)) order by x.seq), '[]')
                    from messages x where x.conversation_id = c.id)
            ) order by c.id::text), '[]')
            from conversations c join conversation_members m on m.conversation_id = c.id
            left join conversation_mutes s on s.conversation_id = c.id and s.user_id = m.user_id
            cross join (select array(select blocked_id from blocks where blocker_id = '\(userID)') as ids) b
            where m.user_id = '\(userID)'
            """)
        return try JSONDecoder().decode(JSONValue.self, from: Data((json ?? "[]").utf8))
    }
}
