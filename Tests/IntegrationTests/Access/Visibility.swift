import Postgres
import Synchronization

/// The data that `select` under row-level security returns to each user, at one moment.
struct Visibility: Sendable {
    /// The marks of rows that may be pushed to a user: its own, those of its conversations, and profiles of users who
    /// share a conversation with it, or left one after writing; and the users whom it blocks.
    var visible: [String: Set<String>] = [:]

    /// The marks of all profiles, which anyone may request.
    var profiles: Set<String> = []

    /// All marks.
    var all: Set<String> = []

    /// All conversations, oldest first.
    var rooms: [String] = []

    /// The members of each conversation.
    var members: [String: [String]] = [:]

    /// Prepares the statements of ``read(_:on:)`` on a connection, which would plan them anew for each user.
    static func prepare(on connection: Connection) async throws {
        try await connection.execute(
            """
            prepare visible as \(rows(of: nil));
            prepare everything as
                select row_to_json(t)::text from public.messages t
                union all select row_to_json(t)::text from public.conversations t
                union all select row_to_json(t)::text from public.user_profiles t
                union all select row_to_json(t)::text from public.user_private t
                union all select row_to_json(t)::text from public.message_reactions t
                union all select row_to_json(t)::text from public.message_pieces t
                union all select row_to_json(t)::text from public.scheduled_messages t
                union all select json_build_array(t.content, t.data, t.mentions)::text from app.held_messages t
                union all select json_build_array(t.comment)::text from app.reports t
                union all select json_build_array(s.id)::text from app.sessions s
            """)
    }

    /// Reads the data of these users in one snapshot, over a prepared connection.
    static func read(_ users: [String], on connection: Connection) async throws -> Visibility {
        var script = "begin isolation level repeatable read read only;"
        for user in users {
            script += """
                \(TestDatabase.rights(of: user))
                execute visible; reset role;
                """
        }
        script += """
            select row_to_json(p)::text from public.user_profiles p;
            execute everything;
            select c.id::text, m.user_id::text
              from public.conversations c left join public.conversation_members m on m.conversation_id = c.id
             order by c.created_at, c.id, m.joined_at, m.user_id;
            commit
            """
        // The other statements return no rows.
        let answers = try await connection.execute(script).filter { $0.columnCount > 0 }
        var visibility = Visibility()
        for (user, rows) in zip(users, answers) { visibility.visible[user] = try marks(rows) }
        visibility.profiles = try marks(answers[users.count])
        visibility.all = try marks(answers[users.count + 1])
        let members = answers[users.count + 2]
        for row in 0..<members.count {
            let room = members.text(row, 0) ?? ""
            if visibility.rooms.last != room { visibility.rooms.append(room) }
            visibility.members[room, default: []] += [members.text(row, 1)].compactMap { $0 }
        }
        return visibility
    }

    /// Returns the marks that the protocol allows a user, read as superuser, independent of the policies.
    static func byMembership(of user: String, on connection: Connection) async throws -> Set<String> {
        try marks(try await connection.execute(rows(of: user))[0])
    }

    /// Returns the marks that the views of schema `rest` give a user, and those that its memberships allow.
    static func throughViews(
        of user: String, on connection: Connection
    ) async throws -> (given: Set<String>, due: Set<String>) {
        func rows(_ schema: String, _ room: String, _ conversation: String) -> String {
            """
            select json_build_array(t.id, t.client_id, t.content, t.attachment)::text from \(schema).messages t \(room)
            union all select json_build_array(t.id, t.title, t.participant1_id, t.participant2_id, t.created_by,
                                              t.last_message_content, t.last_message_sender_id)::text
              from \(schema).conversations t \(conversation)
            """
        }
        let mine = "in (select m.conversation_id from public.conversation_members m where m.user_id = '\(user)')"
        let answers = try await connection.execute(
            """
            begin isolation level repeatable read read only;
            \(rows("public", "where t.conversation_id \(mine)", "where t.id \(mine)"));
            \(TestDatabase.rights(of: user))
            \(rows("rest", "", ""));
            commit
            """
        ).filter { $0.columnCount > 0 }
        return (try marks(answers[1]), try marks(answers[0]))
    }

    /// Returns a query of the rows that may be pushed to a user, selected by its id, or by the policies if nil.
    private static func rows(of user: String?) -> String {
        let me = user.map { "'\($0)'::uuid" } ?? "auth.uid()"
        let mine = "(select x.conversation_id from public.conversation_members x where x.user_id = \(me))"
        func only(_ condition: String) -> String { user == nil ? "" : "where \(condition)" }
        let messages = "(select * from public.messages t \(only("t.conversation_id in \(mine)")))"
        let members = "(select * from public.conversation_members t \(only("t.conversation_id in \(mine)")))"
        // A former member's own row names only the conversation, in `left`.
        let former =
            "(select * from app.former_members t where t.wrote and t.user_id <> \(me) \(user == nil ? "" : "and t.conversation_id in \(mine)"))"
        // A sender reads its own held messages by a function.
        let held =
            user == nil
            ? "app.own_form(t.id, '[]') from public.messages t where t.deleted_at is not null and t.sender_id = \(me)"
            : "json_build_array(t.content, t.data, t.mentions)::text from app.held_messages t where t.sender_id = \(me)"
        return """
            select json_build_array(t.id, t.client_id, t.content, t.attachment, t.event, t.mentions, t.data)::text
              from \(messages) t
            union all select json_build_array(t.user_id, t.emoji)::text
              from (select * from public.message_reactions t \(only("t.conversation_id in \(mine)"))) t
            union all select json_build_array(t.content)::text
              from (select * from public.message_pieces t \(only("t.conversation_id in \(mine)"))) t
            union all select row_to_json(t)::text from public.scheduled_messages t \(only("t.sender_id = \(me)"))
            union all select \(held)
            union all select json_build_array(t.blocked_id)::text from public.blocks t \(only("t.blocker_id = \(me)"))
            union all select row_to_json(t)::text from public.conversations t \(only("t.id in \(mine)"))
            union all select json_build_array(t.user_id)::text from \(members) t
            union all select json_build_array(t.conversation_id)::text from app.former_members t where t.user_id = \(me)
            union all select row_to_json(t)::text from public.user_private t \(only("t.id = \(me)"))
            union all select row_to_json(t)::text from public.user_profiles t
             where t.id = \(me) or t.id in (select user_id from \(members) m) or t.id in (select user_id from \(former) f)
                or t.id in (select sender_id from \(messages) m)
            """
    }

    private static func marks(_ rows: Rows) throws -> Set<String> {
        var marks: Set<String> = []
        for row in 0..<rows.count {
            let text = rows.text(row, 0) ?? ""
            if let known = knownMarks.withLock({ $0[text] }) {
                marks.formUnion(known)
            } else {
                let found = try Fingerprints.find(in: Array(text.utf8))
                knownMarks.withLock { $0[text] = found }
                marks.formUnion(found)
            }
        }
        return marks
    }

    /// The marks of rows that were read before. Most rows are read again, by each user and after each step.
    private static let knownMarks = Mutex<[String: Set<String>]>([:])
}
