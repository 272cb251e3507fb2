import Schema
import Testing

/// E1, E5: indexes and constraints that are missing after a restore or a mistake.
@Suite("Lost indexes and constraints", .timeLimit(.minutes(20)))
struct LostObjectsTests {
    /// A loss and its finding.
    private static let losses: [(sql: String, sentence: String)] = [
        ("drop index public.messages_edited", "The index public.messages_edited is missing."),
        ("drop index auth.users_email_partial_key", "The index auth.users_email_partial_key is missing."),
        (
            "alter table public.messages drop constraint messages_seq_key",
            "The constraint messages_seq_key on public.messages is missing."
        ),
        (
            "alter table app.push_cursor drop constraint push_cursor_pkey",
            "The constraint push_cursor_pkey on app.push_cursor is missing."
        ),
        (
            "alter table app.devices drop constraint devices_user_id_fkey",
            "The constraint devices_user_id_fkey on app.devices is missing."
        ),
        (
            "alter table app.devices drop constraint devices_platform",
            "The constraint devices_platform on app.devices is missing."
        ),
        (
            "alter domain app.title drop constraint conversations_title_valid",
            "The constraint conversations_title_valid on app.title is missing."
        ),
        (
            "update pg_index set indisvalid = false where indexrelid = 'public.messages_changed_xid'::regclass",
            "The index public.messages_changed_xid is invalid."
        ),
        (
            """
            update pg_constraint set convalidated = false where conname = 'devices_session_id_fkey'
            """, "The constraint devices_session_id_fkey on app.devices is invalid."
        ),
    ]

    @Test("migrate and doctor name them, and the advice restores them")
    func lost() async throws {
        try await TestDatabase.with { database in
            let migrator = Migrator(url: database.adminURL, logger: .quiet)
            // The copy of a migrated database lacks the rights on the database itself.
            try await migrator.migrate(loginRole: nil)
            for (sql, sentence) in Self.losses {
                #expect(try await migrator.migrate(loginRole: nil).isEmpty, "before \(sql)")
                try await database.psql(sql)
                let reported = try await Self.problems(of: database)
                #expect(reported.map { $0.message } == [sentence], "\(reported)")
                let error = await #expect(throws: MigrationError.self) { try await migrator.migrate(loginRole: nil) }
                #expect("\(error, default: "")".contains("The database was not changed. \(sentence) Run"), "\(sql)")
                // Literally.
                let advice = reported.first?.advice ?? ""
                try await database.psql(String(advice.dropFirst("Run as the owner: ".count)))
                let left = try await Self.problems(of: database)
                #expect(left.isEmpty, "\(left)")
            }
        }
    }

    @Test("many are listed in one sentence")
    func many() async throws {
        try await TestDatabase.with { database in
            try await database.psql(
                """
                do $$
                declare
                    name text;
                begin
                    for name in select i.indexrelid::regclass from pg_index i join pg_class c on c.oid = i.indrelid
                                 where c.relnamespace = 'app'::regnamespace
                                   and not exists (select from pg_constraint k where k.conindid = i.indexrelid) loop
                        execute 'drop index ' || name;
                    end loop;
                end
                $$
                """)
            let reported = try await Self.problems(of: database)
            #expect(reported.count == 1, "\(reported)")
            let message = reported.first?.message ?? ""
            #expect(message.contains("indexes and constraints are missing"), "\(message)")
            #expect(message.contains("index app.devices_session_id, "), "\(message)")
            #expect(reported.first?.advice.contains("--section=post-data") == true, "\(reported)")
        }
    }

    @Test("an operator's own indexes and constraints are ignored")
    func added() async throws {
        try await TestDatabase.with { database in
            let migrator = Migrator(url: database.adminURL, logger: .quiet)
            for sql in [
                """
                create index own on public.messages (created_at); create unique index own_too on app.devices (id);
                alter table app.devices add constraint own check (platform <> '') not valid
                """,
                "update pg_index set indisvalid = false where indexrelid = 'public.own'::regclass",
                "update app.migrations set hash = 'x' where name = 'functions'",
                "drop index public.own, app.own_too; alter table app.devices drop constraint own",
            ] {
                try await database.psql(sql)
                try await migrator.migrate(loginRole: nil)
                let reported = try await Self.problems(of: database)
                #expect(reported.isEmpty, "\(sql): \(reported)")
            }
        }
    }

    @Test("every index and constraint of the migrations is recorded")
    func recorded() async throws {
        try await TestDatabase.with { database in
            let unrecorded = try await database.column(
                """
                select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
                 where c.relkind = 'i' and n.nspname in ('public', 'app', 'admin', 'auth')
                   and not (select s.value::jsonb from app.settings s where s.name = 'structure')
                           ? ('index ' || n.nspname || '.' || c.relname)
                   and not exists (select from pg_constraint k where k.conindid = c.oid)
                union all
                select k.conname from pg_constraint k join pg_namespace n on n.oid = k.connamespace
                 where k.contype in ('p', 'u', 'x', 'c', 'f') and n.nspname in ('public', 'app', 'admin', 'auth')
                   and not exists (
                       select from app.settings s, jsonb_object_keys(s.value::jsonb) o
                        where s.name = 'structure' and o like 'constraint ' || k.conname || ' on %')
                """)
            #expect(unrecorded.isEmpty, "\(unrecorded)")
        }
    }

    private static func problems(of database: TestDatabase) async throws -> [DoctorFinding] {
        try await DoctorFinding.all(DoctorFinding.environment(database)).filter {
            $0.check == "schema" && $0.level == "problem"
        }
    }
}
