import Foundation
import LineClient
import PrivatePostgres
import TestSupport
import Testing

@Suite("psql -f sql/seed.sql", .timeLimit(.minutes(20)))
struct SeedTests {
    @Test("seeds a migrated database repeatably, with users who can sign in", .covers("F4"))
    func fills() async throws {
        try await TestDatabase.with(migrated: false) { database in
            let migrated = try await Command.run(
                ["migrate"],
                environment: [
                    "POSTLINE_DATABASE_URL": database.url, "POSTLINE_ADMIN_DATABASE_URL": database.adminURL,
                ])
            #expect(migrated.status == 0, "\(migrated.errors)")
            #expect(try await database.value("select count(*) from public.user_profiles") == "0")

            try await Self.seed(database)
            let filled = try await Self.contents(database)
            #expect(filled.count == 8)
            try await Self.seed(database)
            #expect(try await Self.contents(database) == filled)

            try await withNode(database) { node in
                for person in Person.allCases {
                    let client = try await node.signedIn(person)
                    #expect(try await client.call("me.get")["username"]?.stringValue == person.rawValue)
                    let list = try await client.call("conversations.list")["conversations"]?.arrayValue ?? []
                    #expect(!list.isEmpty, "\(person)")
                    await client.close()
                }
                let bob = try await node.signedIn(.bob)
                try await bob.sync()
                let alice = try await node.signedIn(.alice)
                try await alice.send("after the seed", to: Room.aliceBob)
                try await bob.follow { $0.has("after the seed", in: Room.aliceBob) }
                for client in [alice, bob] { await client.close() }
            }
        }
    }

    /// Runs the file as its head says, up to the first error.
    private static func seed(_ database: TestDatabase) async throws {
        let result = try await Command.run(
            ["-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", database.adminURL, "-f", file.path],
            of: PostgresInstallation.find().program("psql"))
        #expect(result.status == 0 && result.errors == "", "\(result.errors)")
    }

    /// Returns a digest of all rows in the tables that the seed writes.
    private static func contents(_ database: TestDatabase) async throws -> [String?] {
        let tables = [
            "auth.users", "public.user_profiles", "public.user_private", "public.conversations",
            "public.conversation_members", "public.messages", "app.search_names", "app.words",
        ]
        return try await database.column(
            tables.map { "select '\($0) ' || md5(string_agg(t::text, '' order by t::text)) from \($0) t" }
                .joined(separator: " union all "))
    }

    private static let file = Repository.url("sql/seed.sql")
}
