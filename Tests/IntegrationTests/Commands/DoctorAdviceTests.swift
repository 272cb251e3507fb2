import Testing

/// E3: the advice of doctor, applied literally, repairs rights that an operator changed.
@Suite("postline doctor: advice on rights", .timeLimit(.minutes(20)))
struct DoctorAdviceTests {
    /// A change, its finding, and the statement that reverts it.
    private static let changes: [(sql: String, message: String, advice: String)] = [
        (
            "grant postline_accounts to authenticated",
            "The role authenticated is a member of postline_accounts, and may take on what that may do.",
            "revoke postline_accounts from authenticated;"
        ),
        (
            "grant authenticated, postline_feed to anon",
            "The role anon is a member of authenticated, postline_feed, and may take on what that may do.",
            "revoke authenticated, postline_feed from anon;"
        ),
        (
            "grant service_role to postline_sender",
            "The role postline_sender is a member of service_role, and may take on what that may do.",
            "revoke service_role from postline_sender;"
        ),
        (
            "alter role authenticated login", "The role authenticated can log in, which only the login role may.",
            "alter role authenticated nologin;"
        ),
        (
            "alter role service_role login", "The role service_role can log in, which only the login role may.",
            "alter role service_role nologin;"
        ),
        (
            "alter table auth.users disable row level security",
            "Row-level security is off on auth.users: its policies do not hold.",
            "alter table auth.users enable row level security;"
        ),
        (
            "grant select on auth.users to anon; grant update (email) on auth.users to public",
            "There are rights that Postline does not give: anon may select on auth.users, "
                + "everybody may update (email) on auth.users.",
            "revoke select on auth.users from anon; revoke update (email) on auth.users from public;"
        ),
        (
            "alter default privileges in schema app grant select on tables to public",
            "There are rights that Postline does not give: everybody has select on each new table of the schema app.",
            "alter default privileges for role postgres in schema app revoke select on tables from public;"
        ),
        (
            "alter default privileges grant usage on sequences to public",
            "There are rights that Postline does not give: everybody has usage on each new sequence.",
            "alter default privileges for role postgres revoke usage on sequences from public;"
        ),
    ]

    @Test("the advice revokes an operator's grants")
    func undone() async throws {
        // Roles are shared by the whole server.
        try await withPrivateServer { _, database in
            let healthy = try await Self.problems(of: database)
            #expect(healthy.isEmpty, "\(healthy)")
            for (sql, message, advice) in Self.changes {
                try await database.psql(sql)
                let reported = try await Self.problems(of: database)
                #expect(reported.map { $0.message } == [message], "\(reported)")
                #expect(reported.first?.advice == advice, "\(reported)")
                try await database.psql(reported.first?.advice ?? "")
                let left = try await Self.problems(of: database)
                #expect(left.isEmpty, "\(sql): \(left)")
            }
        }
    }

    @Test("ignores a foreign accounts table and others' default privileges")
    func others() async throws {
        try await withPrivateServer { _, database in
            try await database.psql(
                """
                create role supabase_auth_admin; alter table auth.users owner to supabase_auth_admin;
                alter table auth.users disable row level security; grant select on auth.users to anon;
                alter default privileges in schema public grant select on tables to anon, authenticated;
                alter default privileges grant execute on functions to anon;
                grant authenticated to supabase_auth_admin
                """)
            let reported = try await Self.problems(of: database)
            #expect(reported.isEmpty, "\(reported)")
        }
    }

    private static func problems(of database: TestDatabase) async throws -> [DoctorFinding] {
        try await DoctorFinding.all(DoctorFinding.environment(database)).filter {
            ["roles", "rights", "rls", "schema"].contains($0.check) && $0.level != "ok"
        }
    }
}
