import Foundation
import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("postline admin", .timeLimit(.minutes(20)))
struct AdminTests {
    /// Runs `postline admin` on a database as its owner.
    private func admin(
        _ arguments: String..., on database: TestDatabase, environment: [String: String] = [:]
    ) async throws -> (status: Int32, output: String, errors: String) {
        try await Command.run(
            ["admin"] + arguments,
            environment: ["POSTLINE_ADMIN_DATABASE_URL": database.adminURL].merging(environment) { $1 })
    }

    /// Returns the JSON result of a command that succeeds, with nothing on standard error.
    private func done(
        _ arguments: String..., on database: TestDatabase, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> JSON {
        let run = try await Command.run(
            ["admin"] + arguments + ["--json"], environment: ["POSTLINE_ADMIN_DATABASE_URL": database.adminURL])
        #expect(run.status == 0, "\(run.errors)", sourceLocation: sourceLocation)
        #expect(run.errors == "", sourceLocation: sourceLocation)
        return try JSON(parsing: run.output)
    }

    @Test("disabling a user ends connections on all nodes until enabled")
    func disabled() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.connect()
            let tokens = try await alice.logIn(Person.alice.email)
            let elsewhere = [try await other.signedIn(.alice), try await other.signedIn(with: tokens)]
            try await elsewhere[0].sync()
            let bob = try await other.signedIn(.bob)

            let answer = try await done(
                "disable", "alice@example.com", "--until", "7d", "--reason", "spam", "--as", "ops", on: one.database)
            #expect(answer["user"]?["id"]?.stringValue == Person.alice.id)
            #expect(answer["ended_sessions"] == 2)
            for client in [alice] + elsewhere { try await client.expectEnd() }
            let client = try await other.connect()
            try await client.refused(
                .sessionRevoked, "session.authenticate", ["access_token": tokens["access_token"] ?? ""])
            try await client.refused(.sessionRevoked, "auth.refresh", ["refresh_token": tokens["refresh_token"] ?? ""])
            let login: JSONObject = [
                "email": .string(Person.alice.email), "password": .string(TestNode.password),
            ]
            try await client.refused(.accountSuspended, "auth.login", login)
            try await bob.call("me.get")

            #expect(try await done("enable", "@alice", "--as", "ops", on: one.database)["was_disabled"] == true)
            try await client.refused(.sessionRevoked, "auth.refresh", ["refresh_token": tokens["refresh_token"] ?? ""])
            try await client.signIn(.alice)
            #expect(
                try await one.database.column(
                    "select concat_ws(' ', operator, action, user_id, detail ->> 'reason') from admin.audit order by id"
                )
                    == ["ops disable \(Person.alice.id) spam", "ops enable \(Person.alice.id)"])
        }
    }

    @Test("makes a moderator, and lists and shows reports")
    func reports() async throws {
        try await withNode { node in
            let (alice, carol) = (try await node.signedIn(.alice), try await node.signedIn(.carol))
            #expect(try await done("moderator", "carol", on: node.database)["is_moderator"] == true)
            #expect(try await carol.call("reports.list")["reports"] == [])
            let message: JSONObject = [
                "conversation_id": .string(Room.aliceBob),
                "seq": try await node.signedIn(.bob).send("an insult", to: Room.aliceBob)["seq"] ?? .null,
                "reason": "abuse",
            ]
            let id = try #require(try await alice.call("reports.create", message)["id"]?.stringValue)
            let list = try await done("reports", on: node.database)
            #expect(list["reports"]?[0]?["id"] == .string(id) && list["pending"] == 1)
            let shown = try await admin("reports", id, on: node.database)
            #expect(shown.output.contains("an insult") && shown.output.contains("abuse"), "\(shown.output)")
            #expect(try await admin("reports", nobody, on: node.database).status == 3)
            #expect(try await admin("reports", "--state", "shut", on: node.database).status == 2)
            let removal = try await admin("moderator", "carol", "--remove", on: node.database)
            #expect(removal.output.contains("no moderator"))
            try await carol.refused(.forbidden, "reports.list")
        }
    }

    @Test("ends one session or all, and the user can sign in again")
    func endSessions() async throws {
        try await withTwoNodes { one, other in
            let first = try await one.signedIn(.alice)
            let listed = try await done("sessions", "alice", on: one.database)["sessions"]
            let id = try #require(listed?[0]?["id"]?.stringValue)
            let second = try await other.signedIn(.alice)
            #expect(try await done("end-sessions", "alice", "--session", id, on: one.database)["ended_sessions"] == 1)
            try await first.expectEnd()
            try await second.call("me.get")
            #expect(try await done("end-sessions", "alice", on: one.database)["ended_sessions"] == 1)
            try await second.expectEnd()
            #expect(try await done("sessions", "alice", on: one.database)["sessions"] == [])
            #expect(
                try await done("sessions", "alice", "--ended", on: one.database)["sessions"]?.arrayValue?.count == 2)
            try await one.connect().signIn(.alice)
        }
    }

    @Test("deleting a user ends its connections and leaves a tombstone")
    func deleted() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.signedIn(.alice)
            let bob = try await other.signedIn(.bob)
            try await bob.sync()
            let unsure = try await admin("delete", "alice", on: one.database)
            #expect(unsure.status == 2 && unsure.errors.contains("say --yes"))
            try await alice.call("me.get")

            let answer = try await done("delete", "alice", "--yes", on: one.database)
            #expect(answer["user"]?["is_deleted"] == true)
            try await alice.expectEnd()
            try await bob.follow("the tombstone") { $0.profiles[Person.alice.id]?["is_deleted"] == true }
            try await one.connect().refused(
                .invalidCredentials, "auth.login",
                ["email": .string(Person.alice.email), "password": .string(TestNode.password)])

            let again = try await admin("delete", Person.alice.id, "--yes", on: one.database)
            #expect(again.status == 1 && again.errors == "postline: This account is deleted and cannot be restored.\n")
            #expect(try await admin("delete", "alice", "--yes", on: one.database).status == 3)
            let log = try await done("log", "--user", Person.alice.id, on: one.database)
            #expect(log["total"] == 1 && log["orders"]?[0]?["action"] == "delete")
        }
    }

    @Test("finds users by id, address and name, and masks addresses")
    func found() async throws {
        try await TestDatabase.with { database in
            for query in [Person.alice.id, Person.alice.email, "alice", "@ALICE", "alice mor"] {
                let users = try await done("user", query, on: database)["users"]
                #expect(users?.arrayValue?.count == 1 && users?[0]?["id"]?.stringValue == Person.alice.id, "\(query)")
                #expect(users?[0]?["email"] == "a…@example.com")
            }
            #expect(
                try await done("user", "alice", "--full", on: database)["users"]?[0]?["email"] == "alice@example.com")
            let text = try await admin("user", "alice", on: database)
            #expect(text.output.contains("\nusername        alice\n"))
            #expect(text.output.contains("\nconversations   "))
            let all = try await done("user", "a", "--limit", "2", on: database)
            #expect(all["has_more"] == true && all["users"]?.arrayValue?.count == 2)
        }
    }

    @Test("escapes users' texts for the terminal")
    func plain() async throws {
        try await TestDatabase.with { database in
            try await database.psql(
                """
                insert into app.mails (kind, email, last_error)
                values ('confirm_email', 'alice@example.com', E'550 \\u001b[31mred\\r\\nmore')
                """)
            let run = try await admin("mail", on: database)
            #expect(run.status == 0 && run.output.contains("550 \u{241B}[31mred\u{240A}more\n"))
            let refused = try await admin("enable", "\u{1B}[31m", on: database)
            #expect(refused.status == 3 && !refused.errors.contains("\u{1B}"))
        }
    }

    @Test("rejects ambiguous and unknown users")
    func ambiguous() async throws {
        try await TestDatabase.with { database in
            try await database.psql(
                "insert into auth.users (id, email, is_sso_user) values ('\(nobody)', 'alice@example.com', true)")
            let several = try await admin("disable", "alice@example.com", on: database)
            #expect(several.status == 2 && several.output == "")
            for id in [nobody, Person.alice.id] { #expect(several.errors.contains(id)) }
            #expect(several.errors.hasPrefix("postline: alice@example.com matches several users. Give the id of one: "))
            let none = try await admin("end-sessions", "alic", on: database)
            #expect(none.status == 3 && none.output == "")
            #expect(none.errors.hasPrefix("postline: No user has the id, email address or username alic."))
            #expect(try await database.value("select count(*) from admin.audit") == "0")
        }
    }

    @Test("lists mails and pushes without secrets, and retries them")
    func mailAndPush() async throws {
        try await TestDatabase.with { database in
            let mail = "00000000-0000-4000-8000-0000000000b1"
            let device = "00000000-0000-4000-8000-0000000000d1"
            try await database.psql(
                """
                insert into app.mails (id, kind, email, attempts, due_at, last_error)
                values ('\(mail)', 'confirm_email', 'alice@example.com', 9, null, '550 <alice@example.com>: no');
                insert into app.devices (id, user_id, platform, token, environment)
                values ('\(device)', '\(Person.alice.id)', 'apns', 'a secret token', 'production');
                insert into app.pushes (device_id, conversation_id, seq, noted_at, due_at, attempts)
                values ('\(device)', '\(Room.aliceBob)', 1, now(), now() + interval '1 hour', 4)
                """)
            for kind in ["mail", "push"] {
                for json in [[], ["--json"]] {
                    let run = try await Command.run(
                        ["admin", kind] + json, environment: ["POSTLINE_ADMIN_DATABASE_URL": database.adminURL])
                    #expect(run.status == 0 && !run.output.contains("alice@") && !run.output.contains("secret"))
                }
            }
            #expect(try await done("mail", on: database)["mails"]?[0]?["state"] == "given_up")
            #expect(try await done("mail", "--full", on: database)["mails"]?[0]?["email"] == "alice@example.com")
            #expect(try await done("push", on: database)["pushes"]?[0]?["attempts"] == 4)
            #expect(try await done("retry-mail", mail, on: database)["retried"] == 1)
            #expect(try await done("retry-push", device, on: database)["retried"] == 1)
            #expect(try await database.value("select due_at <= now() and attempts = 0 from app.mails") == "t")
            #expect(try await database.value("select due_at <= now() and attempts = 0 from app.pushes") == "t")
            #expect(try await done("retry-mail", "--all", on: database)["retried"] == 1)
            #expect(try await done("retry-push", "--all", on: database)["retried"] == 1)
            #expect(try await admin("retry-mail", nobody, on: database).status == 3)
            #expect(try await admin("retry-push", nobody, on: database).status == 3)
            let log = try await done("log", on: database)
            #expect(log["total"] == 4)
            #expect(
                log["orders"]?[0]?.names == ["id", "at", "operator", "database_role", "action", "user_id", "detail"])
        }
    }

    @Test(
        "invalid arguments exit with 2 and say what to do",
        arguments: [
            (["user"], "Missing expected argument"), (["user", "x", "--pull"], "Unknown option '--pull'"),
            (["users", "--pull"], "`postline admin` has no command 'users'. Did you mean 'user'?"),
            (["user", "x", "--pull"], "Usage: postline admin user"),
            (["mail", "--limit", "0"], "The limit must be 1 to 1000."), (["retry-mail"], "or --all"),
            (["retry-push", nobody, "--all"], "or --all"),
            (["disable", "alice", "--until", "soon"], "2026-12-01T08:00:00Z"),
            (["end-sessions", "alice", "--session", "x"], "The id of a session must be a UUID (got \"x\")."),
            (["user", " "], "Name the user"),
            (["log", "--directory", "/nowhere"], "/nowhere holds no dev world"),
            (["log", "--directory", "/nowhere", "--auth", "builtin"], "leave the others out"),
            (["log", "--auth", "none"], "--auth must be one of"), (["explain"], "explain"),
        ])
    func usage(arguments: [String], sentence: String) async throws {
        try await TestDatabase.with { database in
            let run = try await Command.run(
                ["admin"] + arguments, environment: ["POSTLINE_ADMIN_DATABASE_URL": database.adminURL])
            #expect(run.status == 2 && run.output == "", "\(run.errors)")
            #expect(run.errors.contains(sentence), "\(run.errors)")
        }
    }

    @Test("explains a lost database, missing rights and missing migrations")
    func unusable() async throws {
        let away = try await Command.run(
            ["admin", "log"], environment: ["POSTLINE_DATABASE_URL": "postgresql://postline@127.0.0.1:1/postline"])
        #expect(away.status == 1 && away.output == "")
        #expect(away.errors.hasPrefix("postline: The database cannot be reached: "))
        let none = try await Command.run(["admin", "log"])
        #expect(none.status == 2 && none.errors.contains("No database: set POSTLINE_ADMIN_DATABASE_URL"))
        try await TestDatabase.with { database in
            let service = try await Command.run(
                ["admin", "disable", "alice"], environment: ["POSTLINE_DATABASE_URL": database.url])
            #expect(service.status == 1 && service.errors.contains("Set POSTLINE_ADMIN_DATABASE_URL"))
        }
        try await TestDatabase.with(migrated: false) { database in
            let empty = try await admin("log", on: database)
            #expect(empty.status == 1 && empty.errors.contains("run `postline migrate` first"))
        }
    }

    @Test("with external accounts, only refuses what it cannot do")
    func external() async throws {
        try await TestDatabase.with { database in
            for order in [["sessions"], ["end-sessions"], ["disable"], ["enable"]] {
                let run = try await admin(
                    order[0], "alice", on: database, environment: ["POSTLINE_AUTH": "external"])
                #expect(run.status == 1 && run.errors.contains("as another server keeps the accounts"), "\(run.errors)")
            }
            #expect(try await database.value("select count(*) from admin.audit") == "0")
            #expect(try await done("user", "alice", "--auth", "external", on: database)["users"] != nil)
            #expect(try await done("delete", "alice", "--yes", "--auth", "external", on: database)["user"] != nil)
        }
    }

    @Test("on Supabase the owner can find and delete users, with a log line")
    func supabase() async throws {
        try await SupabaseServer.with { server in
            let ada = SupabaseUser.ada.id
            for order in [["user", ada], ["delete", ada, "--yes", "--as", "ops"], ["log"]] {
                let run = try await Command.run(["admin"] + order + ["--json"], environment: server.environment)
                #expect(run.status == 0 && run.output.contains(ada), "\(run.errors)")
            }
            let noted = try await server.psql(
                as: "postgres", "select operator, database_role, action, user_id from admin.audit")
            #expect(noted == "ops|postgres|delete|\(ada)")
        }
    }

    @Test("the JSON output has the names in docs/operations.md")
    func names() async throws {
        let page = try Repository.text("docs/operations.md").split(separator: "\n")
        /// Returns the names in backquotes of the table row with this beginning, without parentheses.
        @Sendable func documented(_ row: String) throws -> [String] {
            let cells = try #require(page.first { $0.hasPrefix("| \(row) | `") }).split(separator: "|")
            return try #require(cells.last { $0.contains("`") }).replacing(/\([^)]*\)/, with: "")
                .split(separator: "`").enumerated().filter { !$0.offset.isMultiple(of: 2) }.map { String($0.element) }
        }
        try await TestDatabase.with { database in
            try await database.psql(
                """
                insert into app.sessions (user_id) values ('\(Person.alice.id)');
                insert into app.mails (kind, email) values ('confirm_email', 'alice@example.com');
                insert into app.devices (user_id, platform, token, environment)
                values ('\(Person.alice.id)', 'apns', 'a secret token', 'production');
                insert into app.pushes (device_id, conversation_id, seq, noted_at, due_at)
                select id, '\(Room.aliceBob)', 1, now(), now() from app.devices
                """)
            let users = try await done("user", "alice", on: database)
            #expect(try users.names == documented("`user`"))
            #expect(try users["users"]?[0]?.names == documented("of `user` and `users`"))
            let sessions = try await done("sessions", "alice", on: database)
            #expect(try sessions.names == documented("`sessions`"))
            #expect(try sessions["user"]?.names == documented("of `user` and `users`"))
            #expect(try sessions["sessions"]?[0]?.names == documented("of `sessions`"))
            for (command, list) in [("mail", "mails"), ("push", "pushes")] {
                let answer = try await done(command, on: database)
                #expect(try answer.names == documented("`\(command)`"))
                #expect(try answer[list]?[0]?.names == documented("of `\(list)`"))
                let retried = try await done("retry-\(command)", "--all", on: database)
                #expect(try retried.names == documented("`retry-mail`, `retry-push`"))
            }
            for order in [["end-sessions", "alice"], ["disable", "alice"], ["delete", "bob", "--yes"]] {
                let run = try await Command.run(
                    ["admin"] + order + ["--json"], environment: ["POSTLINE_ADMIN_DATABASE_URL": database.adminURL])
                #expect(
                    try JSON(parsing: run.output).names == documented("`end-sessions`, `disable`, `delete`"), "\(order)"
                )
            }
            #expect(try await done("enable", "alice", on: database).names == documented("`enable`"))
            let log = try await done("log", on: database)
            #expect(try log.names == documented("`log`"))
            #expect(try log["orders"]?[0]?.names == documented("of `orders`"))
        }
    }

    @Test("--directory selects the dev world, which must be running")
    func devWorld() async throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "dev-\(UUID().uuidString.prefix(8))")
            .path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let dev = try Command(["dev", "--directory", directory, "--port", "0"])
        defer { dev.signal(SIGKILL) }
        try await dev.waitForOutput("stop: ")
        let elsewhere = ["POSTLINE_ADMIN_DATABASE_URL": "postgresql://postline@127.0.0.1:1/postline"]
        let order = ["admin", "end-sessions", "alice", "--directory", directory]
        let done = try await Command.run(order, environment: elsewhere)
        #expect(done.status == 0 && done.output.hasSuffix("sessions ended: 0.\n"), "\(done.errors)")
        let log = try await Command.run(["admin", "log", "--json", "--directory", directory], environment: elsewhere)
        let noted = try JSON(parsing: log.output)["orders"]?[0]
        // Without a name, the operator is the system's user.
        #expect(noted?["operator"]?.stringValue == ProcessInfo.processInfo.userName)
        dev.signal(SIGINT)
        #expect(try await dev.exit() == 0)
        let late = try await Command.run(order, environment: elsewhere)
        #expect(late.status == 1 && late.errors.contains("Start `postline dev` in another terminal"))
    }

    @Test("help lists every command, and each has its own help")
    func help() async throws {
        let names = [
            "user", "sessions", "end-sessions", "disable", "enable", "delete", "mail", "retry-mail", "push",
            "retry-push", "log",
        ]
        let help = try await Command.run(["admin", "--help"])
        let operations = try Repository.text("docs/operations.md")
        for name in names {
            #expect(help.output.contains("\n  \(name) "))
            #expect(operations.contains("postline admin \(name)"), "\(name)")
            #expect(try await Command.run(["admin", name, "--help"]).status == 0)
        }
    }
}
