import Foundation
import NIOCore
import NIOPosix
import Postgres
import PrivatePostgres
import Testing

@Suite("postline doctor", .timeLimit(.minutes(20)))
struct DoctorTests {
    /// A way to break a database, and the expected finding.
    private struct Damage {
        let sql: String

        /// The statement that reverts changes to the whole server.
        var undo = ""
        let level: String
        let check: String
        let message: String
        let advice: String
    }

    private static let damages = [
        Damage(
            sql: "alter table public.messages disable row level security", level: "problem", check: "rls",
            message: "is off on public.messages", advice: "alter table public.messages enable row level security;"),
        Damage(
            sql: "create table app.notes (id integer)", level: "problem", check: "rls", message: "is off on app.notes",
            advice: "alter table app.notes enable"),
        Damage(
            sql: "alter table public.messages force row level security", level: "warning", check: "rls",
            message: "forced on the owner too on public.messages", advice: "no force"),
        Damage(
            sql: "drop policy member_select on public.messages", level: "problem", check: "policies",
            message: "missing: member_select on public.messages", advice: "postline migrate"),
        Damage(
            sql: "create policy all_see on public.messages for select to authenticated using (true)",
            level: "warning", check: "policies", message: "did not make: all_see on public.messages", advice: "drop it"),
        Damage(
            sql: "delete from app.migrations where name like '%_search'", level: "problem", check: "migrations",
            message: "to be applied yet: 20261121000600_search", advice: "Run `postline migrate`"),
        Damage(
            sql: "update app.migrations set hash = 'x' where name like '%_groups'", level: "problem",
            check: "migrations", message: "edited after they had been applied: 20261121000700_groups",
            advice: "Use the binary that applied them"),
        Damage(
            sql: "insert into app.migrations values ('20990101000000_future', 'x')", level: "warning",
            check: "migrations", message: "does not know: 20990101000000_future", advice: "A later version was here"),
        Damage(
            sql: "update app.migrations set hash = 'x' where name = 'functions'", level: "problem", check: "migrations",
            message: "of another version", advice: "Run `postline migrate`"),
        Damage(
            sql: "revoke postline_feed from postline", undo: "grant postline_feed to postline", level: "problem",
            check: "roles", message: "may not take on postline_feed", advice: "Run `postline migrate`"),
        Damage(
            sql: "alter role postline_feed bypassrls", undo: "alter role postline_feed nobypassrls",
            level: "problem", check: "roles", message: "postline_feed can go past the policies", advice: "nobypassrls"),
        Damage(
            sql: "grant select on public.messages to postline", level: "problem", check: "roles",
            message: "has rights of its own, or inherits them, on public.messages", advice: "Revoke them"),
        Damage(
            sql: "revoke execute on all functions in schema feed from postline_feed", level: "problem", check: "rights",
            message: "postline_feed may not call feed.change_ranges", advice: "postline migrate"),
        Damage(
            sql: "revoke usage on schema api from authenticated", level: "problem", check: "rights",
            message: "authenticated may not use the schema api", advice: "postline migrate"),
        Damage(
            sql: "revoke usage on schema rest from authenticated", level: "problem", check: "rights",
            message: "authenticated may not use the schema rest", advice: "postline migrate"),
        Damage(
            sql: "revoke select on rest.messages from authenticated", level: "problem", check: "rights",
            message: "authenticated may not select on rest.messages", advice: "postline migrate"),
        Damage(
            sql: "revoke select on public.messages from authenticated", level: "problem", check: "rights",
            message: "authenticated may not select on public.messages", advice: "postline migrate"),
        Damage(
            sql: "grant select on public.messages to anon", level: "problem", check: "rights",
            message: "anon may select on public.messages", advice: "Revoke"),
        Damage(
            sql: "grant select on rest.messages to anon", level: "problem", check: "rights",
            message: "anon may select on rest.messages", advice: "Revoke"),
        Damage(
            sql: "grant execute on all functions in schema accounts to public", level: "problem", check: "rights",
            message: "everybody may call accounts.", advice: "Revoke"),
        Damage(
            sql: "grant all on all tables in schema public to authenticated", level: "problem", check: "rights",
            message: "authenticated may delete on public.built_in_avatars", advice: "Revoke"),
        Damage(
            sql: "grant update (is_verified) on public.user_profiles to authenticated", level: "problem",
            check: "rights", message: "authenticated may update (is_verified) on public.user_profiles.",
            advice: "Revoke"),
        Damage(
            sql: "grant truncate on rest.messages to authenticated", level: "problem", check: "rights",
            message: "authenticated may truncate on rest.messages.", advice: "Revoke"),
        Damage(
            sql: "grant execute on all functions in schema app to authenticated", level: "problem", check: "rights",
            message: "authenticated may call app.", advice: "Revoke"),
        Damage(
            sql: "grant execute on function admin.delete_user(text, text, text) to service_role, authenticated",
            level: "problem", check: "rights", message: "authenticated may call admin.delete_user.", advice: "Revoke"),
        Damage(
            sql: "revoke usage on schema auth from public, authenticated", level: "problem", check: "rights",
            message: "authenticated may not use the schema auth", advice: "Run `postline migrate`"),
        Damage(
            sql: "alter table public.messages owner to pg_monitor", level: "problem", check: "owners",
            message: "table public.messages (pg_monitor)", advice: "Run `postline migrate`"),
        Damage(
            sql: "grant temporary on database DATABASE to public", level: "warning", check: "rights",
            message: "temporary objects", advice: "revoke temporary on database"),
        Damage(
            sql: "drop index public.messages_changed_xid", level: "problem", check: "schema",
            message: "The index public.messages_changed_xid is missing.",
            advice: "CREATE INDEX messages_changed_xid ON public.messages USING btree (changed_xid);"),
        Damage(
            sql: "alter policy member_select on public.messages using (true)", level: "problem", check: "schema",
            message: "Not all policies are as `postline migrate` left them.", advice: "Run `postline migrate`"),
        Damage(
            sql: "alter function app.is_member(uuid) reset search_path; drop trigger ring on public.user_profiles",
            level: "problem", check: "schema", message: "Not all functions, triggers are",
            advice: "Run `postline migrate`"),
        Damage(
            sql: "drop extension pg_trgm cascade", level: "problem", check: "database", message: "pg_trgm is not in",
            advice: "create extension pg_trgm"),
        Damage(
            sql: "alter database DATABASE set session_replication_role = replica", level: "problem", check: "settings",
            message: "session_replication_role is replica", advice: "alter database"),
        Damage(
            sql: "alter database DATABASE set default_transaction_read_only = on", level: "problem", check: "database",
            message: "accepts no writes", advice: "reset default_transaction_read_only"),
        Damage(
            sql: "alter database DATABASE set synchronous_commit = off", level: "warning", check: "durability",
            message: "synchronous_commit is off", advice: "Set synchronous_commit to on."),
        Damage(
            sql: "alter database DATABASE connection limit 6", level: "problem", check: "connections",
            message: "(the connection limit of the database), and a node takes 11", advice: "POSTLINE_POOL_SIZE"),
        Damage(
            sql: "alter role postline connection limit 10", undo: "alter role postline connection limit -1",
            level: "problem", check: "connections",
            message: "of 10 connections are free (the connection limit of the role)",
            advice: "POSTLINE_POOL_SIZE"),
        Damage(
            sql: "select pg_create_physical_replication_slot('left_behind', true)",
            undo: "select pg_drop_replication_slot('left_behind')", level: "warning", check: "horizon",
            message: "replication slot left_behind", advice: "pg_drop_replication_slot"),
        Damage(
            sql: "begin; create table public.x (); prepare transaction 'left behind'",
            undo: "rollback prepared 'left behind'",
            level: "warning", check: "horizon", message: "left behind of the role postgres", advice: "rollback prepared"
        ),
        Damage(
            sql: "alter table public.messages set (autovacuum_enabled = false)", level: "warning", check: "autovacuum",
            message: "off for public.messages", advice: "reset (autovacuum_enabled)"),
    ]

    @Test("a healthy database is ok; each fault has a finding with advice")
    func damaged() async throws {
        try await Self.withHealthyServer { postgres, world in
            let healthy = try await DoctorFinding.all(DoctorFinding.environment(world), exit: 0)
            for finding in healthy { #expect(finding.level == "ok" && finding.advice.isEmpty, "\(finding)") }
            let checks = [
                "configuration", "ports", "database", "version", "encoding", "clock", "roles", "rights", "rls",
                "policies", "admin", "migrations", "schema", "connections", "settings", "durability", "checkpoints",
                "log", "notifications", "autovacuum", "wraparound", "horizon", "listen",
            ]
            #expect(Set(healthy.map(\.check)) == Set(checks))
            for damage in Self.damages {
                try await Self.withCopy(of: world, postgres) { database in
                    try await database.psql(damage.sql.replacing("DATABASE", with: database.name))
                    let findings = try await DoctorFinding.all(
                        DoctorFinding.environment(database), ["--open-transaction-seconds", "0"],
                        exit: damage.level == "problem" ? 1 : 0)
                    if !damage.undo.isEmpty { try await database.psql(damage.undo) }
                    let bad = findings.filter { $0.level != "ok" }
                    #expect(bad.contains { Self.tells($0, damage) }, "\(damage.sql): \(bad)")
                }
            }
        }
    }

    @Test("the advice repairs rights and policies")
    func advice() async throws {
        try await TestDatabase.with { database in
            try await database.psql(
                """
                alter table public.messages disable row level security;
                drop policy member_select on public.conversations;
                revoke usage on schema api from authenticated;
                revoke execute on all functions in schema feed from postline_feed;
                grant select on public.messages to anon;
                grant execute on all functions in schema accounts to public
                """)
            func problems() async throws -> [DoctorFinding] {
                try await DoctorFinding.all(DoctorFinding.environment(database), exit: 1)
                    .filter { $0.level == "problem" && $0.check != "autovacuum" }
            }
            let broken = try await problems()
            #expect(broken.map(\.check).sorted() == ["policies", "rights", "rights", "rls", "schema"], "\(broken)")
            let again = broken.filter { $0.check != "rls" }
            #expect(
                again.allSatisfy {
                    !$0.advice.contains("app.migrations") && $0.advice.contains("un `postline migrate`")
                }, "\(again)")
            // E3: literally.
            let statement = try #require(broken.first { $0.check == "rls" }?.advice)
            try await database.psql(statement)
            let migrated = try await Command.run(["migrate"], environment: DoctorFinding.environment(database))
            #expect(migrated.status == 0, "\(migrated.errors)")
            let repaired = try await problems()
            #expect(repaired.isEmpty, "\(repaired)")
        }
    }

    @Test("reports inherited rights of the login role; migrate removes them")
    func inheriting() async throws {
        try await Self.withHealthyServer { postgres, world in
            // From PostgreSQL 16 on inheritance is a property of each grant, not of the role.
            try await postgres.psql(
                """
                alter role postline inherit;
                do $$ begin
                    if current_setting('server_version_num')::integer >= 160000 then
                        execute 'grant authenticated to postline with inherit true';
                    end if;
                end $$
                """)
            let reported = try await DoctorFinding.all(DoctorFinding.environment(world), exit: 1).filter {
                $0.level == "problem"
            }
            #expect(reported.map(\.check) == ["roles"], "\(reported)")
            #expect(reported.first?.message.contains("or inherits them, on ") == true, "\(reported)")
            #expect(reported.first?.advice.contains("run `postline migrate`") == true, "\(reported)")
            let migrated = try await Command.run(["migrate"], environment: DoctorFinding.environment(world))
            #expect(migrated.status == 0, "\(migrated.errors)")
            let repaired = try await DoctorFinding.all(DoctorFinding.environment(world), exit: 0).filter {
                $0.level != "ok"
            }
            #expect(repaired.isEmpty, "\(repaired)")
        }
    }

    @Test("examines a read-only database")
    func readOnly() async throws {
        try await Self.withHealthyServer { postgres, world in
            try await Self.withCopy(of: world, postgres) { database in
                try await database.psql("alter database \(database.name) set default_transaction_read_only = on")
                let findings = try await DoctorFinding.all(DoctorFinding.environment(database), exit: 1)
                #expect(findings.count > 15)
                let problems = findings.filter { $0.level == "problem" }
                #expect(problems.contains { $0.message.contains("default_transaction_read_only is on") }, "\(problems)")
                #expect(problems.allSatisfy { $0.message.contains("accepts no writes") }, "\(problems)")
            }
        }
    }

    @Test("names the setting for frequent checkpoints")
    func checkpoints() async throws {
        try await Self.withHealthyServer(settings: ["checkpoint_timeout": "30s"]) { _, world in
            let reported = try await DoctorFinding.all(DoctorFinding.environment(world), exit: 0).filter {
                $0.level != "ok"
            }
            #expect(reported.map(\.check) == ["checkpoints"], "\(reported)")
            #expect(reported.first?.message.contains("A checkpoint comes every 30 s") == true, "\(reported)")
            #expect(reported.first?.advice.contains("Set checkpoint_timeout to 15min") == true, "\(reported)")
        }
    }

    @Test("reports missing migrations and encodings other than UTF-8")
    func bare() async throws {
        try await Self.withHealthyServer { postgres, world in
            try await postgres.psql(
                "create database bare encoding 'SQL_ASCII' locale 'C' template template0")
            let findings = try await DoctorFinding.all(
                DoctorFinding.environment(Self.database("bare", beside: world)), exit: 1)
            let problems = findings.filter { $0.level == "problem" }
            #expect(problems.contains { $0.check == "migrations" && $0.advice.contains("`postline migrate`") })
            #expect(problems.contains { $0.check == "encoding" && $0.message.contains("SQL_ASCII") })
            #expect(problems.map(\.check).sorted() == ["encoding", "migrations"], "\(problems)")
        }
    }

    @Test("reports an old open transaction with its process")
    func openTransaction() async throws {
        try await Self.withHealthyServer { _, world in
            let program = try await world.connect()
            _ = try await program.execute("begin; select pg_current_xact_id()")
            let process = "process \(program.backendProcessID) of the role postgres"
            let reported = try await DoctorFinding.all(
                DoctorFinding.environment(world), ["--open-transaction-seconds", "0"], exit: 0)
            #expect(
                reported.contains {
                    $0.level == "warning" && $0.check == "horizon" && $0.message.contains(process)
                        && $0.advice.contains("pg_terminate_backend")
                })
            let young = try await DoctorFinding.all(DoctorFinding.environment(world), exit: 0)
            #expect(young.filter { $0.check == "horizon" }.map(\.level) == ["ok"])
            await program.close()
            // Without the owner's URL, doctor says what it could not check.
            let blind = try await DoctorFinding.all(
                DoctorFinding.environment(world).filter { $0.key != "POSTLINE_ADMIN_DATABASE_URL" }, exit: 0)
            let skipped = blind.filter { $0.level == "skipped" }
            #expect(skipped.map(\.check).sorted() == ["horizon", "migrations"])
            #expect(skipped.allSatisfy { $0.advice.contains("POSTLINE_ADMIN_DATABASE_URL") })
        }
    }

    @Test("reports a server without fsync or autovacuum")
    func careless() async throws {
        // Like the test server itself.
        try await TestDatabase.with { database in
            let findings = try await DoctorFinding.all(DoctorFinding.environment(database), exit: 1)
            let bad = findings.filter { $0.level != "ok" }.map { "\($0.level) \($0.check) \($0.message)" }
            #expect(bad.contains { $0.hasPrefix("warning durability fsync is off") }, "\(bad)")
            #expect(bad.contains { $0.hasPrefix("warning durability full_page_writes is off") }, "\(bad)")
            #expect(bad.contains { $0.hasPrefix("problem autovacuum Autovacuum is off") }, "\(bad)")
        }
    }

    @Test("reports libpq's reason, and refuses the owner as login role")
    func wrongURL() async throws {
        try await TestDatabase.with { database in
            var environment = DoctorFinding.environment(database)
            environment["POSTLINE_DATABASE_URL"] = database.url.replacing(database.name, with: "nowhere")
            let away = try await DoctorFinding.all(environment, exit: 1)
            let problem = try #require(away.first { $0.level == "problem" })
            #expect(problem.check == "database")
            #expect(problem.message.contains(#"database "nowhere" does not exist"#), "\(problem.message)")
            #expect(problem.advice.contains("Check host, port, database"))
            environment["POSTLINE_DATABASE_URL"] = database.adminURL
            let strong = try await DoctorFinding.all(environment, exit: 1)
            #expect(strong.contains { $0.check == "roles" && $0.message.contains("is a superuser") })
        }
    }

    @Test("row 28: distinguishes pool modes, and names the missing URL")
    func pooler() async throws {
        try await TestDatabase.with { database in
            try await Pooler.with(database, mode: .transaction, backends: 4) { pooler in
                var environment = DoctorFinding.environment(database)
                environment["POSTLINE_DATABASE_URL"] = pooler.url
                let deaf = try await Self.listening(environment)
                #expect(deaf.level == "problem")
                #expect(deaf.message.contains("it leads to a pooler in transaction mode"))
                #expect(deaf.advice.contains("Set POSTLINE_LISTEN_DATABASE_URL"))
                environment["POSTLINE_LISTEN_DATABASE_URL"] = database.url
                #expect(try await Self.listening(environment).level == "ok")
                environment["POSTLINE_DATABASE_URL"] = database.url
                environment["POSTLINE_LISTEN_DATABASE_URL"] = pooler.url
                let other = try await Self.listening(environment)
                #expect(other.level == "problem")
                #expect(other.message.contains("do not arrive over POSTLINE_LISTEN_DATABASE_URL"))
            }
            try await Pooler.with(database, mode: .session, backends: 8) { pooler in
                var environment = DoctorFinding.environment(database)
                environment["POSTLINE_DATABASE_URL"] = pooler.url
                #expect(try await Self.listening(environment).level == "ok")
                let findings = try await DoctorFinding.all(environment, exit: 1)
                #expect(findings.contains { $0.check == "database" && $0.message.contains("through a pooler") })
            }
        }
    }

    @Test("accepts ports that Postline serves, and reports other programs")
    func ports() async throws {
        try await TestDatabase.with { database in
            try await ServeProcess.with(database) { node in
                var environment = DoctorFinding.environment(database)
                environment["POSTLINE_PORT"] = "\(node.port)"
                environment["POSTLINE_HTTP_PORT"] = "\(try await node.command.port(of: "serving HTTP"))"
                environment["POSTLINE_OPERATIONS_PORT"] = "\(node.operationsPort)"
                let served = try await DoctorFinding.all(environment, exit: 1).filter { $0.check == "ports" }
                #expect(served.map(\.level) == ["ok", "ok", "ok"])
                #expect(served.allSatisfy { $0.message.contains("a Postline") }, "\(served)")
                environment["POSTLINE_HTTP_PORT"] = "0"
                let elsewhere = try await DoctorFinding.all(environment, exit: 1).filter { $0.check == "ports" }
                #expect(elsewhere.map(\.level) == ["ok", "warning", "ok"])
                #expect(elsewhere[1].message.contains("nothing serves HTTP"), "\(elsewhere)")
            }
            let others = [
                try await Self.anotherProgram(), try await Self.anotherProgram(), try await Self.anotherProgram(),
            ]
            var environment = DoctorFinding.environment(database)
            environment["POSTLINE_PORT"] = "\(try #require(others[0].localAddress?.port))"
            environment["POSTLINE_OPERATIONS_PORT"] = "\(try #require(others[1].localAddress?.port))"
            environment["POSTLINE_HTTP_PORT"] = "\(try #require(others[2].localAddress?.port))"
            let taken = try await DoctorFinding.all(environment, exit: 1).filter { $0.check == "ports" }
            #expect(taken.map(\.level) == ["problem", "problem", "problem"])
            #expect(taken.allSatisfy { $0.message.contains("the port is in use") }, "\(taken)")
            #expect(taken.first?.advice.contains("POSTLINE_PORT") == true)
            for other in others { try await other.close() }
        }
    }

    /// Listens like a foreign program.
    private static func anotherProgram() async throws -> any Channel {
        try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.writeAndFlush(ByteBuffer(string: "220 another\r\n")).flatMap { channel.close() }
            }
            .bind(host: "127.0.0.1", port: 0).get()
    }

    @Test(
        "checks ports over TLS and the PROXY protocol as configured"
    )
    func encryptedPort() async throws {
        try await TestCertificates.with { certificates in
            try certificates.issue(for: "chat.example", validFor: 90 * 86_400)
            try await TestDatabase.with { database in
                let serving = certificates.environment.merging(["POSTLINE_PROXY_PROTOCOL": "on"]) { $1 }
                let node = try await ServeProcess.start(database, environment: serving)
                defer { node.command.signal(SIGKILL) }
                var environment = DoctorFinding.environment(database)
                environment["POSTLINE_PORT"] = "\(node.port)"
                environment["POSTLINE_OPERATIONS_PORT"] = "\(node.operationsPort)"
                func lines(_ settings: [String: String]) async throws -> DoctorFinding {
                    let findings = try await DoctorFinding.all(environment.merging(settings) { $1 }, exit: 1)
                    let tls = findings.filter { $0.check == "tls" }
                    #expect(tls.map(\.level) == (settings.isEmpty ? [] : ["ok"]), "\(tls)")
                    return try #require(findings.first { $0.check == "ports" })
                }
                let served = try await lines(serving)
                #expect(served.level == "ok")
                #expect(served.message.contains("serves lines over TLS"), "\(served)")
                let unknown = try await lines([:])
                #expect(unknown.level == "warning")
                #expect(unknown.message.contains("no hello in plain text"), "\(unknown)")
                #expect(unknown.advice.contains("POSTLINE_TLS_CERTIFICATE"))
                // Renewed without a reload of the node.
                try certificates.issue(for: "chat.example", validFor: 90 * 86_400)
                let stale = try await lines(serving)
                #expect(stale.level == "warning")
                #expect(stale.advice.contains("send that node SIGHUP"), "\(stale)")
                node.command.signal(SIGHUP)
                try await node.command.waitForErrors("the certificate was reloaded")
                #expect(try await lines(serving).level == "ok")
            }
        }
    }

    @Test("settings errors exit with 78; reports missing and weak secrets")
    func configuration() async throws {
        try await TestDatabase.with { database in
            let good = DoctorFinding.environment(database)
            let unreadable = try await Command.run(
                ["doctor"], environment: good.merging(["POSTLINE_PORT": "http"]) { $1 })
            #expect(unreadable.status == 78)
            #expect(unreadable.errors.contains("POSTLINE_PORT must be an integer"))
            let bad: [([String: String], level: String, sentence: String)] = [
                (["POSTLINE_JWT_SECRET": "short"], "problem", "at least 32 bytes"),
                (["POSTLINE_JWT_SECRET": String(repeating: "a", count: 40)], "warning", "few different characters"),
                (["POSTLINE_AUTH": "external"], "warning", "issuer postline"),
                (["POSTLINE_DATABASE_URL": ""], "problem", "No database"),
            ]
            for (changes, level, sentence) in bad {
                let findings = try await DoctorFinding.all(good.merging(changes) { $1 }, exit: 1)
                #expect(
                    findings.contains {
                        $0.level == level && $0.check == "configuration" && $0.message.contains(sentence)
                    }, "\(changes): \(findings)")
            }
            // The same for a person, one line per finding.
            let read = try await Command.run(["doctor"], environment: good)
            #expect(read.output.contains("ok       version        PostgreSQL 1"), "\(read.output)")
            #expect(read.errors == "")
        }
    }
}

extension DoctorTests {
    /// Runs a body with a server in a typical configuration and the dev world.
    private static func withHealthyServer(
        settings changed: [String: String] = [:],
        _ body: @Sendable (PrivatePostgres, TestDatabase) async throws -> Void
    ) async throws {
        let healthy = [
            "fsync": "on", "full_page_writes": "on", "autovacuum": "on", "max_prepared_transactions": "2",
            "wal_level": "replica",
        ]
        try await withPrivateServer(settings: healthy.merging(changed) { $1 }, body)
    }

    private static func withCopy(
        of world: TestDatabase, _ postgres: PrivatePostgres, _ body: (TestDatabase) async throws -> Void
    ) async throws {
        // A database with open connections cannot be copied.
        try await postgres.psql(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity where datname = '\(world.name)'")
        try await postgres.psql("create database broken template \(world.name)")
        try await body(database("broken", beside: world))
        try await postgres.psql("drop database broken with (force)")
    }

    /// Returns another database of the same server.
    private static func database(_ name: String, beside world: TestDatabase) -> TestDatabase {
        TestDatabase(name: name) { user, database in
            (user.map { world.url(user: $0) } ?? world.adminURL).replacing("/\(world.name)", with: "/\(database)")
        }
    }

    private static func listening(_ environment: [String: String]) async throws -> DoctorFinding {
        try #require(try await DoctorFinding.all(environment, exit: 1).first { $0.check == "listen" })
    }

    private static func tells(_ finding: DoctorFinding, _ damage: Damage) -> Bool {
        finding.level == damage.level && finding.check == damage.check && finding.message.contains(damage.message)
            && finding.advice.contains(damage.advice)
    }
}
