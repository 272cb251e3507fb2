import LineClient
import Logging
import Messaging
import Postgres
import Testing

@Suite("A migration of a database that is in use", .timeLimit(.minutes(60)))
struct MigrationTests {
    @Test("lets others write while a table that it changes is being dumped, says by whom, and ends when that does")
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

    private static let applied = "select hash from app.migrations where name = 'functions'"
}
