import BoundedWait
import Foundation
import PrivatePostgres
import TestSupport

/// A PostgreSQL whose database `postgres` looks like a Supabase project's, without Postline.
struct SupabaseServer: Sendable {
    let postgres: PrivatePostgres
    let database: TestDatabase

    /// The settings of a Supabase deployment. The owner is `postgres`, who is no superuser.
    var environment: [String: String] {
        [
            "POSTLINE_DATABASE_URL": database.url, "POSTLINE_ADMIN_DATABASE_URL": database.url(user: "postgres"),
            "POSTLINE_AUTH": "external", "POSTLINE_JWT_SECRET": SupabaseToken.secret,
            "POSTLINE_JWT_ISSUER": SupabaseToken.issuer, "POSTLINE_PORT": "0",
        ]
    }

    /// Runs a body with a server.
    ///
    /// - Parameter migrated: True to run `postline migrate` first.
    static func with(
        migrated: Bool = true, _ body: @Sendable (SupabaseServer) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appending(
            path: "postline-supabase-\(UUID().uuidString.prefix(8))"
        ).path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let postgres = PrivatePostgres(
            installation: try await .ofTests(), directory: directory,
            settings: ["fsync": "off", "full_page_writes": "off", "wal_level": "logical"])
        try await postgres.start()
        do {
            // In Supabase the superuser is supabase_admin, which created the server. A role cannot rename itself.
            try await postgres.psql("create role renamer superuser login")
            try await postgres.psql("alter role postgres rename to supabase_admin", user: "renamer")
            try await postgres.psql("drop role renamer", user: "supabase_admin")
            try await postgres.psql(try fixture("supabase.sql"), user: "supabase_admin")
            let url = await postgres.url(user: "USER", database: "DATABASE")
            let database = TestDatabase(name: "postgres") { user, database in
                url.replacing("USER", with: user ?? "supabase_admin").replacing("DATABASE", with: database)
            }
            let server = SupabaseServer(postgres: postgres, database: database)
            if migrated {
                let result = try await Command.run(["migrate"], environment: server.environment)
                guard result.status == 0 else { throw TimeoutError(description: result.errors) }
            }
            try await body(server)
        } catch {
            try? await postgres.stop(mode: .immediate)
            throw error
        }
        try await postgres.stop(mode: .immediate)
    }

    /// Returns all objects of Supabase, one per line.
    func catalogue() async throws -> Set<String> {
        let lines = try await postgres.psql(try Self.fixture("supabase-catalogue.sql"), user: "supabase_admin")
        return Set(lines.split(separator: "\n").map(String.init))
    }

    /// Runs statements as a login role.
    func psql(as role: String, _ sql: String) async throws -> String {
        try await postgres.psql(sql, user: role).trimmingCharacters(in: .newlines)
    }

    /// Runs a statement like Supabase's API does for a user of the project or without one, and returns its output.
    ///
    /// The variables of the transaction are those of PostgREST, in its order (`PostgREST.Query.PreQuery`).
    func asAPI(_ claims: String, role: String = "authenticated", _ sql: String) async throws -> String {
        try await psql(
            as: "authenticator",
            """
            begin;
            do $prologue$ begin
                perform set_config('search_path', '"public", "extensions"', true), set_config('role', '\(role)', true),
                        set_config('request.jwt.claims', '\(claims)', true), set_config('request.method', 'GET', true),
                        set_config('request.path', '/', true), set_config('request.headers', '{}', true),
                        set_config('request.cookies', '{}', true);
            end $prologue$;
            \(sql);
            commit
            """)
    }

    /// The page that describes the deployment.
    static let page = Repository.url("docs/supabase.md")

    private static func fixture(_ name: String) throws -> String {
        try Repository.text("Tests/IntegrationTests/Fixtures/\(name)")
    }
}
