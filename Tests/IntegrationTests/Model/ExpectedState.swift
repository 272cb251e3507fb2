import BoundedWait
import Postgres
import Testing

/// Compares all devices with the database while nothing is written.
struct ExpectedState: Sendable {
    let database: TestDatabase
    let devices: [Device]
    let writeLog: WriteLog

    /// Waits until every device has seen all writes, and compares its state with what `select` returns to its user
    /// under row-level security.
    ///
    /// The fence is a change of each user's own data. Changes arrive in commit order, so everything committed before it
    /// arrives before it.
    func compare(atFence fence: Int) async throws {
        try await sendScheduledMessages()
        try await database.psql(
            "update public.user_private set preferences = preferences || '{\"fence\":\(fence)}'")
        for device in devices {
            do {
                try await within("the fence") { await device.waitForFence(fence) }
            } catch is TimeoutError {
                await writeLog.recordViolation("the written changes did not arrive", by: device.name)
                continue
            }
            try await compare(device)
        }
        for device in devices {
            try await comparePresence(device)
            try await compareDeliveredMarks(device)
        }
        try await checkInvariants()
    }

    /// Compares presence until both agree, since it changes with a delay and may change meanwhile.
    private func comparePresence(_ device: Device) async throws {
        do {
            try await eventually("the presence of others") {
                let online = Set(try await select(as: device.user, Self.online, [device.user]))
                return await device.model.online == online
            }
        } catch is TimeoutError {
            let online = Set(try await select(as: device.user, Self.online, [device.user]))
            let difference = await device.model.online.symmetricDifference(online)
            await device.recordViolation("its presence differs from the database: \(difference.sorted())")
        }
    }

    /// Waits until the nodes have sent the scheduled messages, all of which are due.
    private func sendScheduledMessages() async throws {
        try await database.psql("update public.scheduled_messages set next_try_at = now() where refusal is null")
        do {
            try await database.wait(
                for: "select count(*) from public.scheduled_messages where refusal is null", toBe: "0")
        } catch is TimeoutError {
            await writeLog.recordViolation("scheduled messages were not sent", by: "the nodes")
        }
    }

    /// Compares delivered marks until both agree, since nodes report them with a delay.
    private func compareDeliveredMarks(_ device: Device) async throws {
        var difference: Set<String> = []
        do {
            try await eventually("the delivered marks of others") {
                let stored = Set(try await select(as: device.user, Self.delivered, [device.user]))
                difference = await device.model.deliveredLines(of: device.user).symmetricDifference(stored)
                return difference.isEmpty
            }
        } catch is TimeoutError {
            await device.recordViolation("its delivered marks differ from the database: \(difference.sorted())")
        }
    }

    private func compare(_ device: Device) async throws {
        let model = await device.model
        let held = model.lines(of: device.user)
        let rooms = model.rooms.filter { $0.value.newest >= $0.value.first }.sorted { $0.key < $1.key }
        let stored = Set(
            try await select(
                as: device.user, Self.world,
                [device.user, Self.list(rooms.map(\.key)), Self.list(rooms.map { "\($0.value.first)" })]))
        for line in stored.subtracting(held).sorted().prefix(3) { await device.recordViolation("it lacks: \(line)") }
        for line in held.subtracting(stored).sorted().prefix(3) {
            await device.recordViolation("it has, and the database lacks: \(line)")
            guard line.hasPrefix("messages "), let id = line.split(separator: " ").dropFirst().first.map(String.init),
                let room = model.rooms[id]
            else { continue }
            let history = try await select(as: device.user, Self.history, [id, "\(room.first)"])
            for message in Set(history).symmetricDifference(room.history).sorted().prefix(4) {
                await device.recordViolation("it differs in \(id) at: \(message)")
            }
        }
        // A device may know more users: members of conversations that it has left, and former members who wrote
        // nothing.
        let profileLines = try await select(as: device.user, Self.profileLines, [device.user])
        for line in Set(profileLines).subtracting(model.profileLines).sorted().prefix(3) {
            await device.recordViolation("it lacks: \(line)")
        }
    }

    /// Checks that each acknowledged write is stored once.
    func audit() async throws {
        func recordViolation(_ what: String) async { await writeLog.recordViolation(what, by: "the database") }
        let messages = Set(
            try await database.column(
                """
                select concat_ws(' ', id, conversation_id, sender_id, client_id, seq) from public.messages
                union all
                select concat_ws(' ', message_id, conversation_id, sender_id, client_id, seq) from app.expired_sends
                """))
        for sent in await writeLog.sent.values {
            let line = "\(sent.id) \(sent.conversation) \(sent.sender) \(sent.clientID) \(sent.seq)"
            if !messages.contains(line) { await recordViolation("an acknowledged message is missing: \(line)") }
        }
        for (text, states) in [
            ("id || ' ' || version || ' ' || coalesce(content, '-') from public.messages", await writeLog.contents),
            ("id || ' ' || version || ' ' || full_name from public.user_profiles", await writeLog.names),
            (
                "id || ' ' || version || ' ' || title from public.conversations where title is not null",
                await writeLog.titles
            ),
        ] {
            for line in try await database.column("select " + text).compactMap({ $0 }) {
                let parts = line.split(separator: " ", maxSplits: 2).map(String.init)
                guard parts.count == 3, let version = Int(parts[1]), let state = states[parts[0]] else { continue }
                if version < state.version || version == state.version && parts[2] != state.text {
                    await recordViolation("\(line), but \(state.text) was answered with version \(state.version)")
                }
            }
        }
        let scheduled = Set(
            try await database.column(
                """
                select client_id from public.messages where client_id is not null
                union all select client_id from app.expired_sends
                union all select id from public.scheduled_messages where refusal is not null
                """))
        for id in await writeLog.scheduled where !scheduled.contains(id) {
            await recordViolation("a scheduled message was neither sent nor refused: \(id)")
        }
        let marks = await writeLog.marks
        for line in try await database.column(
            "select conversation_id || ' ' || user_id || ' ' || last_read_seq from public.conversation_members"
        ).compactMap({ $0 }) {
            let parts = line.split(separator: " ").map(String.init)
            if let mark = marks["\(parts[0]) \(parts[1])"], Int(parts[2]) ?? 0 < mark {
                await recordViolation("the mark \(line), but \(mark) was answered")
            }
        }
    }

    /// Checks the invariants of any database state.
    private func checkInvariants() async throws {
        for line in try await database.column(
            """
            select 'numbers of ' || c.id || ' have gaps' from public.conversations c
              join public.messages m on m.conversation_id = c.id
             group by c.id having max(m.seq) - c.first_seq + 1 <> count(*) or min(m.seq) <> c.first_seq
            union all
            select 'expired messages of ' || c.id || ' are unread' from public.conversations c
              join public.conversation_members m on m.conversation_id = c.id and m.last_read_seq < c.first_seq - 1
            union all
            select 'last_* of ' || c.id || ' are not its last message''s' from public.conversations c
              join public.messages m on m.conversation_id = c.id and m.seq = c.last_seq
             where c.last_message_content is distinct from left(m.content, 200)
                or c.last_message_sender_id <> m.sender_id
                or c.last_seq <> (select max(seq) from public.messages where conversation_id = c.id)
            union all
            select conversation_id || ' has ' || count(*) filter (where role = 'owner') || ' owners'
              from public.conversation_members m join public.conversations c on c.id = m.conversation_id
             where c.kind = 'group' group by conversation_id having count(*) filter (where role = 'owner') <> 1
            union all
            select 'the reactions to ' || seq || ' of ' || conversation_id || ' are ' || coalesce(r.counts, '{}')
                   || ', the rows say ' || coalesce(s.counts, '{}')
              from (select conversation_id, seq, counts from public.reaction_counts where counts <> '{}') r
              full join (select conversation_id, seq, jsonb_object_agg(emoji, number) as counts
                           from (select conversation_id, seq, emoji, count(*) as number from public.message_reactions
                                  where is_set group by 1, 2, 3) n group by 1, 2) s using (conversation_id, seq)
             where r.counts is distinct from s.counts
            union all
            select user_id || ' has ' || scheduled_count || ' and ' || unsent_count || ' scheduled messages in '
                   || conversation_id || ', the rows say ' || n.scheduled || ' and ' || n.unsent
              from public.conversation_mutes x
             cross join lateral (
                    select count(*) filter (where refusal is null) as scheduled,
                           count(*) filter (where refusal is not null) as unsent
                      from public.scheduled_messages s
                     where s.conversation_id = x.conversation_id and s.sender_id = x.user_id) n
             where row(scheduled_count, unsent_count) is distinct from row(n.scheduled::int, n.unsent::int)
            union all
            select count(*) || ' messages say ' || content from public.messages
             where version = 1 and client_id is not null and content <> '' group by content having count(*) > 1
            """
        ).compactMap({ $0 }) {
            await writeLog.recordViolation(line, by: "the database")
        }
    }

    /// Runs a query with a user's rights.
    private func select(as user: String, _ sql: String, _ parameters: [String?]) async throws -> [String] {
        let connection = try await database.connect()
        let rights = Statement(
            "rights", "select set_config('role', 'authenticated', true), set_config('request.jwt.claims', $1, true)")
        let claims = #"{"sub":"\#(user)","role":"authenticated"}"#
        do {
            let rows = try await connection.run(
                [Call(rights, [claims]), Call(Statement("world", sql), parameters)], deadline: watchdogLimit)[1]
            await connection.close()
            return (0..<rows.count).compactMap { rows.text($0, 0) }
        } catch {
            await connection.close()
            throw error
        }
    }

    private static func list(_ elements: [String]) -> String { "{\(elements.joined(separator: ","))}" }

    /// Returns the same lines as `Model.lines(of:)`. Row-level security selects the rows.
    private static let world = """
        select concat_ws(' ', 'me', p.id, p.version, coalesce(p.full_name, '-'), coalesce(p.bio, '-'),
                         coalesce(p.avatar_type, '-'), coalesce(p.avatar_id, '-'), coalesce(p.avatar_url, '-'))
          from public.user_profiles p where p.id = $1::uuid
        union all
        select 'blocked ' || coalesce(string_agg(b.blocked_id::text, ',' order by b.blocked_at, b.blocked_id), '')
          from public.blocks b
        union all
        select concat_ws(' ', 'conversation', c.id, c.kind, c.version, coalesce(c.title, '-'), c.last_seq,
                         coalesce(c.last_message_content, '-'))
          from public.conversations c
        union all
        select concat_ws(' ', 'pinned', c.id, coalesce(array_to_string(c.pinned_seqs, ','), ''))
          from public.conversations c
        union all
        select concat_ws(' ', 'settings', c.id, (s.archived_at is not null)::text, (s.pinned_at is not null)::text,
                         coalesce(s.scheduled_count, 0), coalesce(s.unsent_count, 0))
          from public.conversations c
          left join public.conversation_mutes s on s.conversation_id = c.id and s.user_id = $1::uuid
        union all
        select concat_ws(' ', 'reactions', r.conversation_id, r.seq, r.version, (
                   select string_agg(e.key || '=' || e.value, ',' order by e.key || '=' || e.value)
                     from jsonb_each_text(r.counts) e), (
                   select coalesce(string_agg(o.emoji, ',' order by o.emoji), '') from public.message_reactions o
                    where o.conversation_id = r.conversation_id and o.seq = r.seq and o.user_id = $1::uuid and o.is_set))
          from public.reaction_counts r
          join unnest($2::uuid[], $3::bigint[]) as held (conversation_id, first) using (conversation_id)
         where r.seq >= held.first and r.counts <> '{}'
        union all
        select concat_ws(' ', 'member', m.conversation_id, m.user_id, m.role, m.last_read_seq)
          from public.conversation_members m
        union all
        select concat_ws(' ', 'messages', m.conversation_id, count(*), md5(string_agg(
                   concat_ws(' ', m.seq, m.version, coalesce((
                       select string_agg(p.content, '' order by p.start) from public.message_pieces p
                        where p.conversation_id = m.conversation_id and p.seq = m.seq), m.content, '-'),
                       coalesce(m.reply_to_seq, 0)),
                   E'\\n' order by m.seq)))
          from public.messages m
          left join unnest($2::uuid[], $3::bigint[]) as held (conversation_id, first) using (conversation_id)
         where m.seq >= coalesce(held.first, (
                   select c.last_seq + 1 from public.conversations c where c.id = m.conversation_id))
         group by m.conversation_id
        """

    private static let online = "select user_id from public.presence where is_online and user_id <> $1::uuid"

    private static let delivered = """
        select concat_ws(' ', m.conversation_id, m.user_id, greatest(m.last_read_seq, d.last_delivered_seq))
          from public.conversation_members m
          left join public.delivered_marks d using (conversation_id, user_id)
         where m.user_id <> $1::uuid
        """

    private static let profileLines = """
        select concat_ws(' ', 'profile', p.id, coalesce(p.full_name, '-'), coalesce(p.bio, '-'),
                         coalesce(p.avatar_type, '-'), coalesce(p.avatar_id, '-'), coalesce(p.avatar_url, '-'))
          from public.user_profiles p
         where p.id <> $1::uuid
           and p.id in (select m.user_id from public.conversation_members m
                        union
                        select f.user_id from app.former_members f
                         where f.wrote
                           and f.conversation_id in (select m.conversation_id from public.conversation_members m))
        """

    private static let history = """
        select concat_ws(' ', m.seq, m.version, coalesce(m.content, '-'), coalesce(m.reply_to_seq, 0))
          from public.messages m
         where m.conversation_id = $1::uuid and m.seq >= $2::bigint
        """
}
