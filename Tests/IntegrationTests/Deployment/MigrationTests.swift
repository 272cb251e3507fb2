import BoundedWait
import Logging
import Postgres
import Schema
import Testing

@Suite("Migrations of a live database", .timeLimit(.minutes(20)))
struct MigrationTests {
    @Test("waits for a dump without blocking writes, and says why")
    func beside() async throws {
        try await withNode { node in
            let lines = LoggedLines()
            let migrator = Migrator(url: node.database.adminURL, logger: Logger(label: "migrate") { _ in lines })
            let alice = try await node.signedIn(.alice)
            try await node.database.psql("update app.migrations set hash = 'another' where name = 'functions'")
            let dump = try await node.database.connect()
            _ = try await dump.execute(
                "set application_name = 'dump'; begin; select count(*) from public.messages; select pg_sleep(1)")
            try await withThrowingTaskGroup { group in
                group.addTask { try await migrator.migrate(loginRole: nil) }
                let said = try await lines.line("file=sql/policies.sql")
                for number in 1...20 { try await alice.send("meanwhile \(number)", to: Room.aliceBob) }
                #expect(said.contains("(postgres, dump)"), "\(said)")
                #expect(try await node.database.value(Self.applied) == "another")
                _ = try await dump.execute("commit")
                let applied = try await group.next() ?? []
                #expect(applied.map(\.name) == ["functions and policies"])
            }
            await dump.close()
            #expect(try await node.database.value(Self.applied) != "another")
        }
    }

    @Test("migrations can run at once, despite foreign advisory locks")
    func locks() async throws {  // A10
        try await withNode { node in
            let database = node.database
            let held = try await database.connect()
            _ = try await held.execute("set role anon; select pg_advisory_lock(7432000001)")
            try await database.psql("delete from app.migrations where name = 'functions'")
            let applied = try await within("the migrations") {
                try await withThrowingTaskGroup { group in
                    for _ in 1...4 {
                        group.addTask {
                            try await Migrator(url: database.adminURL, logger: .quiet).migrate(loginRole: nil)
                        }
                    }
                    return try await group.reduce(into: [String]()) { $0 += $1.map(\.name) }
                }
            }
            #expect(applied == ["functions and policies"])
            // Nor can it take the locks of migrations.
            for mode in ["access share", "row exclusive", "share row exclusive", "access exclusive"] {
                await #expect(throws: PostgresError.self) {
                    _ = try await held.execute("begin; lock table app.migrations in \(mode) mode")
                }
                _ = try await held.execute("rollback")
            }
            await held.close()
        }
    }

    private static let applied = "select hash from app.migrations where name = 'functions'"
}
