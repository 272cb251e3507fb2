import Foundation
import PrivatePostgres
import Schema
import Testing

/// E6, E12: conflicts with a migration are found before anything is written.
@Suite("Migration refusals", .timeLimit(.minutes(20)))
struct MigrationRefusalTests {
    /// Foreign objects in a database, and the error for each.
    private static let obstacles: [(sql: String, sentence: String)] = [
        ("create table public.messages (id bigint primary key)", "public.messages exists and is not Postline's"),
        ("create table public.conversations (id int)", "public.conversations exists and is not Postline's"),
        ("create view public.user_profiles as select 1 as id", "public.user_profiles exists and is not Postline's"),
        ("create materialized view public.media as select 1 as id", "public.media exists and is not Postline's"),
        ("create sequence public.presence", "public.presence exists and is not Postline's"),
        ("create type public.user_private as (a int)", "public.user_private exists and is not Postline's"),
        ("create schema app; create table app.settings (a int)", "The schema app exists and holds objects"),
        (
            "create schema app; create table app.migrations (version bigint)",
            "app.migrations exists and is not Postline's"
        ),
        (
            "create schema api; create table api.orders (a int)",
            "The schema api exists and holds objects that are not "
                + "Postline's (orders)"
        ),
        ("create schema admin; create table admin.users (a int)", "The schema admin exists and holds objects"),
        (
            "create schema feed; create function feed.x() returns int language sql as 'select 1'",
            "The schema feed exists"
        ),
        ("create schema app; create type app.profile as (a int)", "The schema app exists and holds objects"),
        ("drop schema public cascade", "There is no schema public"),
        (
            "create function public.similarity(text, text) returns real language sql as 'select 1::real'",
            "The extension pg_trgm cannot be created"
        ),
        (
            "create function public.gen_random_uuid() returns uuid language sql as 'select null::uuid'",
            "The extension pgcrypto cannot be created"
        ),
        ("create schema auth; create view auth.users as select 1 as id", "auth.users is not a table"),
        (account(without: "is_sso_user"), "auth.users lacks the column is_sso_user (boolean)"),
        (account(without: "deleted_at"), "auth.users lacks the column deleted_at (timestamp with time zone)"),
        (account(without: "is_anonymous"), "auth.users lacks the column is_anonymous"),
        (account(without: "banned_until"), "auth.users lacks the column banned_until"),
        (account(without: "email_change_token_current"), "auth.users lacks the column email_change_token_current"),
        (
            "create schema auth; create table auth.users (id bigint primary key, email text)",
            "auth.users lacks the columns"
        ),
        (account() + "; alter table auth.users alter column raw_user_meta_data type text", "has the type text"),
        (account() + "; alter table auth.users add column tenant int not null", "demands a value in tenant"),
        (
            account() + "; create function auth.uid() returns text language sql as 'select null::text'",
            "auth.uid() returns text, and Postline needs uuid"
        ),
    ]

    /// Returns a table with only the columns that Postline uses.
    private static func account(without column: String? = nil) -> String {
        let columns: [(String, String)] = [
            ("instance_id", "uuid"), ("id", "uuid primary key"), ("aud", "text"), ("role", "text"), ("email", "text"),
            ("encrypted_password", "text"), ("email_confirmed_at", "timestamptz"), ("confirmation_token", "text"),
            ("recovery_token", "text"), ("email_change_token_new", "text"), ("email_change", "text"),
            ("last_sign_in_at", "timestamptz"), ("raw_app_meta_data", "jsonb"), ("raw_user_meta_data", "jsonb"),
            ("created_at", "timestamptz"), ("updated_at", "timestamptz"), ("phone", "text"), ("phone_change", "text"),
            ("phone_change_token", "text"), ("email_change_token_current", "text"), ("banned_until", "timestamptz"),
            ("reauthentication_token", "text"), ("is_sso_user", "boolean not null default false"),
            ("deleted_at", "timestamptz"), ("is_anonymous", "boolean not null default false"),
        ]
        let kept = columns.filter { $0.0 != column }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        return "create schema auth; create table auth.users (\(kept))"
    }

    @Test("names a conflicting table or column, and writes nothing")
    func obstructed() async throws {
        for (sql, sentence) in Self.obstacles {
            try await TestDatabase.with(migrated: false) { database in
                try await database.psql(sql)
                let before = try await database.value(Self.catalogue)
                do {
                    try await Migrator(url: database.adminURL, logger: .quiet).migrate(loginRole: nil)
                    Issue.record("migrated: \(sql)")
                } catch {
                    #expect("\(error)".contains(sentence), "\(sql): \(error)")
                }
                #expect(try await database.value(Self.catalogue) == before, "\(sql)")
            }
        }
    }

    @Test("refuses an encoding other than UTF8", arguments: ["SQL_ASCII", "LATIN1"])
    func encoding(_ encoding: String) async throws {
        try await TestDatabase.with(migrated: false) { database in
            let name = "\(database.name)_\(encoding.lowercased())"
            try await database.psql("create database \(name) template template0 encoding '\(encoding)' locale 'C'")
            let error = await #expect(throws: MigrationError.self) {
                let url = database.adminURL.replacing(database.name, with: name)
                try await Migrator(url: url, logger: .quiet).migrate(loginRole: nil)
            }
            #expect("\(error, default: "")".contains("The database's encoding is \(encoding), and Postline needs UTF8"))
            try await database.psql("drop database \(name) with (force)")
        }
    }

    @Test("refuses to continue if another table has the next name")
    func cutShort() async throws {
        try await TestDatabase.with { database in
            try await database.psql(
                """
                delete from app.migrations where name >= '20261123000200_push';
                drop table public.conversation_mutes cascade; create table public.conversation_mutes (mine int)
                """)
            let error = await #expect(throws: MigrationError.self) {
                try await Migrator(url: database.adminURL, logger: .quiet).migrate(loginRole: nil)
            }
            #expect("\(error, default: "")".contains("public.conversation_mutes exists and is not Postline's"))
            #expect(try await database.value("select count(mine) from public.conversation_mutes") == "0")
        }
    }

    @Test("continues an interrupted migration before a replaced function")
    func cutShortBeforeReplacement() async throws {
        try await TestDatabase.with(migrated: false) { database in
            // The migration that drops app.name_words of an earlier one and creates it again.
            try await database.psql(
                """
                create function public.stop() returns event_trigger language plpgsql as $$
                begin
                    if current_query() like '%drop function app.name_words(%' then raise exception 'stopped'; end if;
                end $$;
                create event trigger stop on ddl_command_start when tag in ('DROP FUNCTION')
                    execute function public.stop()
                """)
            let migrator = Migrator(url: database.adminURL, logger: .quiet)
            let error = await #expect(throws: MigrationError.self) { try await migrator.migrate(loginRole: nil) }
            #expect("\(error, default: "")".contains("stopped"))
            #expect(try await database.value("select to_regproc('app.name_words') is not null") == "t")
            try await database.psql("drop event trigger stop; drop function public.stop()")
            try await migrator.migrate(loginRole: nil)
        }
    }

    @Test("refuses a schema-only restore in one sentence")
    func schemaAlone() async throws {
        let installation = try await PostgresInstallation.ofTests()
        let file = FileManager.default.temporaryDirectory.appending(path: "schema-\(UUID().uuidString).sql").path
        defer { try? FileManager.default.removeItem(atPath: file) }
        try await TestDatabase.with { database in
            let dumped = try await Command.run(
                ["--schema-only", "--file", file, database.adminURL], of: installation.program("pg_dump"))
            #expect(dumped.status == 0, "\(dumped.errors)")
            try await TestDatabase.with(migrated: false) { restored in
                let psql = try await Command.run(
                    ["-X", "-q", "-f", file, restored.adminURL], of: installation.program("psql"))
                #expect(psql.status == 0, "\(psql.errors)")
                let environment = [
                    "POSTLINE_DATABASE_URL": restored.url, "POSTLINE_ADMIN_DATABASE_URL": restored.adminURL,
                    "POSTLINE_JWT_SECRET": TestNode.secret, "POSTLINE_PORT": "0", "POSTLINE_HTTP_PORT": "0",
                ]
                let sentence = "The database has Postline's tables and no data, as after a restore of the schema alone"
                let migrated = try await Command.run(["migrate"], environment: environment)
                #expect(migrated.status != 0)
                #expect(migrated.errors.contains(sentence), "\(migrated.errors)")
                #expect(!migrated.errors.contains("is not Postline's"), "\(migrated.errors)")
                let doctor = try await Command.run(["doctor"], environment: environment)
                #expect(doctor.output.contains(sentence), "\(doctor.output)")
                #expect(!doctor.output.contains("is not Postline's"), "\(doctor.output)")
            }
        }
    }

    @Test("accepts empty schemas, and an auth.users with the needed columns")
    func taken() async throws {
        try await TestDatabase.with(migrated: false) { database in
            try await database.psql("create schema app; create schema api; \(Self.account())")
            let migrator = Migrator(url: database.adminURL, logger: .quiet)
            try await migrator.migrate(loginRole: .init(name: "postline", password: nil))
            try await withNode(database) { node in
                let sam = try await node.stranger("Sam Stranger")
                let guest = try await node.guest("Gwen Visitor")
                let room = try await sam.conversation(with: guest.userID)
                try await sam.send("hello", to: room)
                try await node.database.psql("update public.user_profiles set is_deleted = true where not is_guest")
                #expect(
                    try await node.database.value("select count(*) from auth.users where deleted_at is null") == "1")
            }
            #expect(try await migrator.migrate(loginRole: nil).isEmpty)
        }
    }

    private static let catalogue = """
        select (select count(*) from pg_class) || ' ' || (select count(*) from pg_namespace) || ' '
               || (select count(*) from pg_proc) || ' ' || (select count(*) from pg_extension)
        """
}
