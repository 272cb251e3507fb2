import BoundedWait
import Foundation
import LineClient
import PrivatePostgres
import Schema
import Testing
@testable import WireProtocol

/// E1, E2, E4, E5: backup and restore as described in docs/operations.md.
@Suite("Restore into a new cluster", .timeLimit(.minutes(20)))
struct RestoreTests {
    @Test("a dump with owners and privileges restores after creating roles")
    func withOwners() async throws {
        try await Self.expectSameAnswers(
            before: { postgres in
                try await postgres.psql(
                    "\(Self.roles.map { "create role \($0) nologin noinherit" }.joined(separator: "; "))")
            }, options: ["--exit-on-error"])
    }

    @Test("a dump with owners and privileges restores without the roles")
    func withoutRoles() async throws {
        try await Self.expectSameAnswers(options: [])
    }

    @Test("a dump without owners and privileges restores")
    func withoutOwners() async throws {
        try await Self.expectSameAnswers(options: ["--no-owner", "--no-acl"])
    }

    @Test("migrate repairs owners, rights, policies and roles")
    func drifted() async throws {
        let damages = [
            "revoke usage on schema auth from anon, authenticated, postline_feed",
            "revoke execute on function auth.uid() from public, authenticated",
            "revoke all on all tables in schema public from authenticated, postline_feed, postline_sender",
            "revoke usage on schema api, app from authenticated",
            "grant select on public.messages to public",
            "grant execute on all functions in schema accounts to public",
            "grant temporary on database DATABASE to public",
            "alter table public.messages disable row level security",
            "drop policy member_select on public.conversations",
            "alter policy member_select on public.messages using (true)",
            "alter table public.messages owner to OTHER; alter function accounts.credentials(text) owner to OTHER",
            "drop function api.presence(uuid[]); drop view app.message_objects cascade",
            "drop function public.unread_count(public.conversations); drop trigger ring on public.user_profiles",
            "alter table public.messages disable trigger all",
            "alter function app.is_member(uuid) reset search_path; alter function api.me() security definer",
            """
            create or replace function app.is_member(conversation_id uuid) returns boolean language sql stable
            security definer set search_path = pg_catalog, pg_temp as 'select true'
            """,
            "alter schema app owner to OTHER; alter view app.me_objects owner to OTHER",
        ]
        try await TestDatabase.with { database in
            let other = "other_\(UInt64.random(in: 0 ... .max))"
            try await database.psql("create role \(other)")
            let migrator = Migrator(url: database.adminURL, logger: .quiet)
            try await migrator.migrate(loginRole: nil)
            for damage in damages {
                #expect(try await migrator.migrate(loginRole: nil).isEmpty, "before \(damage)")
                try await database.psql(
                    damage.replacing("OTHER", with: other).replacing("DATABASE", with: database.name))
                let applied = try await migrator.migrate(loginRole: nil)
                #expect(applied.map(\.name).joined().hasPrefix("functions and policies again"), "\(damage): \(applied)")
                #expect(try await migrator.migrate(loginRole: nil).isEmpty, "after \(damage)")
                #expect(
                    try await database.value("select count(*) from pg_class where relowner = '\(other)'::regrole")
                        == "0")
                try await withNode(database) { node in
                    let alice = try await node.signedIn(.alice)
                    try await alice.send("still here", to: Room.aliceBob)
                    try await alice.sync()
                }
            }
            try await database.psql("drop owned by \(other); drop role \(other)")
        }
    }

    @Test("doctor counts the pictures that a restore lacks")
    func pictures() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "pictures-\(UUID().uuidString)").path
        try FileManager.default.createDirectory(atPath: "\(folder)/avatars", withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try await TestDatabase.with { database in
            try await database.psql(
                """
                insert into public.media (owner_id, purpose, mime_type, bytes, stored_at, used_at)
                select '\(Person.alice.id)', 'avatar', 'image/png', 1, now(), now() from generate_series(1, 3)
                """)
            let ids = try await database.column("select id from public.media").compactMap(\.self)
            try Data([1]).write(to: URL(fileURLWithPath: "\(folder)/avatars/\(try #require(ids.first))"))
            let environment = [
                "POSTLINE_DATABASE_URL": database.url, "POSTLINE_ADMIN_DATABASE_URL": database.adminURL,
                "POSTLINE_JWT_SECRET": TestNode.secret, "POSTLINE_PORT": "0", "POSTLINE_HTTP_PORT": "0",
                "POSTLINE_MEDIA_DIR": folder, "POSTLINE_MEDIA_URL": "http://127.0.0.1:8080",
            ]
            let lacking = try await Command.run(["doctor"], environment: environment)
            #expect(
                lacking.output.contains("2 of the 3 of 3 files that were looked for are missing"),
                "\(lacking.output)")
            for id in ids { try Data([1]).write(to: URL(fileURLWithPath: "\(folder)/avatars/\(id)")) }
            let whole = try await Command.run(["doctor"], environment: environment)
            #expect(whole.output.contains("All of the 3 of 3 files"), "\(whole.output)")
            try FileManager.default.removeItem(atPath: folder)
            let nothing = try await Command.run(["doctor"], environment: environment)
            #expect(
                nothing.output.contains("3 of the 3 of 3 files that were looked for are missing"),
                "\(nothing.output)")
        }
    }

    private static let roles = [
        "anon", "authenticated", "service_role", "postline_feed", "postline_accounts", "postline_sender",
    ]

    /// Dumps a database in use, restores it into a new cluster, migrates, serves, and compares the results of the same
    /// calls.
    private static func expectSameAnswers(
        before prepare: @Sendable (PrivatePostgres) async throws -> Void = { _ in }, options: [String]
    ) async throws {
        let installation = try await PostgresInstallation.ofTests()
        let scratch = FileManager.default.temporaryDirectory.appending(path: "restore-\(UUID().uuidString.prefix(8))")
            .path
        try FileManager.default.createDirectory(atPath: scratch, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: scratch) }
        let dump = "\(scratch)/postline.dump"
        let before = try await withNode { node in
            let sam = try await node.stranger("Sam Stranger")
            let room = try await sam.conversation(with: Person.alice.id)
            try await sam.send("before the dump", to: room)
            let answers = try await answers(of: node)
            let made = try await Command.run(
                ["--format", "custom", "--file", dump, node.database.adminURL], of: installation.program("pg_dump"))
            #expect(made.status == 0, "\(made.errors)")
            return answers
        }
        #expect(before.count == 60)
        let postgres = PrivatePostgres(
            installation: installation, directory: "\(scratch)/cluster",
            settings: ["fsync": "off", "full_page_writes": "off"])
        try await postgres.start()
        do {
            let url = await postgres.url(user: "USER", database: "DATABASE")
            let database = TestDatabase(name: "postline") { user, database in
                url.replacing("USER", with: user ?? "postgres").replacing("DATABASE", with: database)
            }
            try await prepare(postgres)
            try await postgres.psql("create database postline")
            let restored = try await Command.run(
                options + ["--dbname", database.adminURL, dump], of: installation.program("pg_restore"))
            #expect(restored.status == 0 || !options.contains("--exit-on-error"), "\(restored.errors)")
            let migrated = try await Command.run(
                ["migrate"],
                environment: [
                    "POSTLINE_DATABASE_URL": database.url, "POSTLINE_ADMIN_DATABASE_URL": database.adminURL,
                ])
            #expect(migrated.status == 0, "\(migrated.errors)")
            let after = try await withNode(database) { try await answers(of: $0) }
            for (one, other) in zip(before, after) { #expect(one == other) }
            #expect(before.count == after.count)
        } catch {
            try? await postgres.stop(mode: .immediate)
            throw error
        }
        try await postgres.stop(mode: .immediate)
    }

    /// Returns the results of ten calls for each of six users.
    private static func answers(of node: TestNode) async throws -> [JSON] {
        var answers: [JSON] = []
        for person in Person.allCases {
            let client = try await node.signedIn(person)
            let list = try await client.call("conversations.list", [:])
            let room = try #require(list["conversations"]?[0]?["id"])
            answers += [
                list, try await client.call("me.get"), try await client.call("avatars.list"),
                try await client.call("messages.list", ["conversation_id": room, "limit": 20]),
                try await client.call("conversations.get", ["conversation_id": room]),
                try await client.call("profiles.get", ["username": "bob"]),
                try await client.call("profiles.get", ["ids": .array(Person.allCases.map { .string($0.id) })]),
                try await client.call("profiles.search", ["query": "ali"]),
                try await client.call("profiles.search", ["query": "galager"]),
                try await client.call("devices.list"),
            ]
        }
        return answers
    }
}
