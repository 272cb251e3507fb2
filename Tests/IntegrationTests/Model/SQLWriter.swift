import BoundedWait
import Postgres

/// A foreign program that writes by SQL and does not know of Postline.
actor SQLWriter {
    private let name: String
    private let database: TestDatabase
    private let users: [String]
    private let groups: [String]
    private let writeLog: WriteLog
    private var random: SeededRandom
    private var connection: Connection?
    private var number = 0

    init(
        _ name: String, _ database: TestDatabase, users: [String], groups: [String], _ writeLog: WriteLog,
        _ random: SeededRandom
    ) {
        self.name = name
        self.database = database
        self.users = users
        self.groups = groups
        self.writeLog = writeLog
        self.random = random
    }

    /// Writes until the round ends.
    func work() async throws {
        while await !writeLog.isQuiet {
            number += 1
            try await write()
        }
        await connection?.close()
        connection = nil
    }

    private func write() async throws {
        let user = users.randomElement(using: &random) ?? ""
        let group = groups.randomElement(using: &random) ?? ""
        // Writes that lock what a send locks take the conversation's lock first, as sends do.
        let lock = Call(
            Statement("lock", "select from public.conversations where id = $1::uuid for no key update"), [group])
        switch Int.random(in: 0..<100, using: &random) {
        case 0..<45:
            try await send([(group, user)])
        case 45..<60:
            // One transaction, so that all of it arrives together or not at all.
            try await send([(group, user), (group, user)], rename: random.chance(50) ? user : nil)
        case 60..<75:
            try await commit("names changed", [rename(user)])
        case 75..<83:
            let delete = Statement(
                "remove",
                "delete from public.conversation_members where conversation_id = $1::uuid and user_id = $2::uuid")
            try await commit("members removed", [lock, Call(delete, [group, user])])
        case 83..<93:
            let insert = Statement(
                "add",
                """
                insert into public.conversation_members (conversation_id, user_id) values ($1::uuid, $2::uuid)
                    on conflict do nothing
                """)
            try await commit("members added", [lock, Call(insert, [group, user])])
        case 93..<95:
            let react = Statement(
                "react",
                """
                insert into public.message_reactions as r (conversation_id, user_id, seq, emoji)
                select m.conversation_id, $2::uuid, m.seq, 'sql' from public.messages m
                 where m.conversation_id = $1::uuid order by m.seq desc limit 1
                on conflict (conversation_id, user_id, seq, emoji) do update set is_set = not r.is_set
                """)
            try await commit("reactions set", [Call(react, [group, user])])
        case 95:
            let block = Statement(
                "block",
                """
                with ended as (delete from public.blocks where blocker_id = $1::uuid and blocked_id = $2::uuid returning 1)
                insert into public.blocks (blocker_id, blocked_id)
                select $1::uuid, $2::uuid where not exists (select from ended)
                """)
            let other = users.filter { $0 != user }.randomElement(using: &random) ?? ""
            try await commit("blocks changed", [Call(block, [user, other])])
        case 96:
            let update = Statement(
                "send scheduled",
                """
                update public.scheduled_messages set next_try_at = now()
                 where sender_id = $1::uuid and refusal is null and next_try_at > now()
                """)
            try await commit("scheduled messages made due", [Call(update, [user])])
        case 97..<98:
            let update = Statement("retitle", "update public.conversations set title = $2 where id = $1::uuid")
            try await commit("titles changed", [Call(update, [group, "\(name) \(number)"])])
        case 98:
            let expire = Statement(
                "expire",
                """
                update public.conversations set first_seq = last_seq - least(5, last_seq - first_seq)
                 where id = $1::uuid
                """)
            try await commit("conversations with expired messages", [lock, Call(expire, [group])])
        default:
            // A rolled-back write, which must never arrive.
            try await commit(nil, [rename(user), Call(Statement("fail", "select 1 / 0"))])
        }
    }

    private func rename(_ user: String) -> Call {
        Call(
            Statement("rename", "update public.user_profiles set bio = $2 where id = $1::uuid"),
            [user, "\(name) \(number)"])
    }

    private func send(_ messages: [(room: String, user: String)], rename user: String? = nil) async throws {
        let insert = Statement(
            "send",
            """
            insert into public.messages (conversation_id, sender_id, client_id, content)
            select m.conversation_id, m.user_id, $3::uuid, $4 from public.conversation_members m
             where m.conversation_id = $1::uuid and m.user_id = $2::uuid
               and not exists (select from public.messages where client_id = $3::uuid and sender_id = $2::uuid)
            returning id, seq
            """)
        var calls: [Call] = []
        var clientIDs: [String] = []
        for (place, message) in messages.enumerated() {
            clientIDs.append(random.uuid())
            calls.append(Call(insert, [message.room, message.user, clientIDs[place], "\(name) \(number) \(place)"]))
        }
        if let user { calls.append(rename(user)) }
        let rows = try await commit(nil, calls)
        for (place, message) in messages.enumerated() where rows.count > place && rows[place].count == 1 {
            guard let id = rows[place].text(0, 0), let seq = rows[place].text(0, 1).flatMap({ Int($0) }) else {
                continue
            }
            await writeLog.record(
                sent: .init(
                    id: id, conversation: message.room, sender: message.user, clientID: clientIDs[place], seq: seq))
        }
        if user != nil, !rows.isEmpty { await writeLog.record("names changed") }
    }

    /// Runs the calls in one transaction, and retries on lost connections and transient errors.
    ///
    /// - Returns: No rows if the database refuses.
    @discardableResult
    private func commit(_ kind: String?, _ calls: [Call]) async throws -> [Rows] {
        try await eventually("the commit of \(kind ?? "a transaction")") {
            do {
                let connection = try await opened()
                let rows = try await connection.run(calls, deadline: watchdogLimit)
                if let kind { await writeLog.record(kind) }
                return rows
            } catch PostgresError.server(let error) where !Self.isTransient(error.sqlState.rawValue) {
                return []
            } catch {
                if await connection?.isClosed ?? false { connection = nil }
                return nil
            }
        }
    }

    private func opened() async throws -> Connection {
        if let connection { return connection }
        let new = try await database.connect()
        connection = new
        return new
    }

    /// True for a deadlock, a serialization failure, and a server that stops or starts.
    private static func isTransient(_ state: String) -> Bool {
        state.hasPrefix("40") || state.hasPrefix("57") || state.hasPrefix("08")
    }
}
