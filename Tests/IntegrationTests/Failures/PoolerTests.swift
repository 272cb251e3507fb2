import BoundedWait
import Foundation
import LineClient
import Postgres
import Testing
@testable import WireProtocol

@Suite("PgBouncer", .timeLimit(.minutes(20)))
struct PoolerTests {
    /// The number of requests of each client. All share two backends.
    private static let requests = 50

    @Test("row 28: works in transaction mode with a direct listener URL")
    func works() async throws {
        try await TestDatabase.with { database in
            try await Pooler.with(database, mode: .transaction, backends: 2) { pooler in
                var settings = NodeSettings(poolSize: 6, databaseURL: pooler.url)
                settings.listenDatabaseURL = database.url
                try await withNode(database, settings) { node in
                    let watcher = try await node.signedIn(.bob)
                    try await watcher.sync()
                    // Six connections alternate on two backends, as different users, with errors between.
                    let sent = try await withThrowingTaskGroup(of: [String].self) { group in
                        for person in [Person.alice, .bob, .carol, .dave, .erin, .frank] {
                            group.addTask { try await Self.converse(person, node) }
                        }
                        return try await group.reduce(into: []) { $0 += $1 }
                    }
                    #expect(sent.count == 2 * Self.requests)
                    let stored = try await database.column(
                        "select content from public.messages where conversation_id = '\(Room.aliceBob)' and seq > 90")
                    #expect(stored.compactMap { $0 }.sorted() == sent.sorted())
                    // Writes of another program notify, too.
                    try await database.psql(
                        "insert into public.messages (conversation_id, sender_id, content) values ('\(Room.aliceBob)', '\(Person.alice.id)', 'of psql')"
                    )
                    try await watcher.follow { $0.has("of psql", in: Room.aliceBob) }
                    #expect(
                        await watcher.state.arrivals[Room.aliceBob]?.filter { $0 > 90 } == Array(91...91 + sent.count)
                    )
                    try await Self.expectNothingLeft(pooler)
                }
            }
        }
    }

    /// Sends requests as a user, and returns the contents sent to Alice and Bob's conversation.
    private static func converse(_ person: Person, _ node: TestNode) async throws -> [String] {
        let client = try await node.signedIn(person)
        var sent: [String] = []
        for number in 0..<requests {
            #expect(try await client.call("me.get")["username"]?.stringValue == person.rawValue)
            let content = "\(person) \(number)"
            if person == .alice || person == .bob {
                try await client.send(content, to: Room.aliceBob)
                sent.append(content)
            } else {
                try await client.refused(
                    .notFound, "messages.send",
                    ["conversation_id": .string(Room.aliceBob), "content": .string(content)])
            }
        }
        return sent
    }

    /// Expects that no backend keeps a role, claims or a prepared statement of a request.
    private static func expectNothingLeft(_ pooler: Pooler) async throws {
        let reactor = Reactor(name: "test")
        let programs = try await (0..<2).asyncMap { _ in try await Connection.open(pooler.url, on: reactor) }
        for program in programs {
            // Both are held open, so that they use different backends.
            _ = try await program.execute("begin")
            let rows = try await program.run([
                Call(
                    Statement(
                        "left",
                        """
                        select current_setting('role'), coalesce(current_setting('request.jwt.claims', true), ''), \
                        (select count(*)::text from pg_prepared_statements)
                        """))
            ])
            #expect((0..<3).map { rows[0].text(0, $0) } == ["none", "", "0"])
        }
        for program in programs {
            do {
                _ = try await program.run([Call(Statement("read", "select from public.messages"))])
                Issue.record("the login role reads without a request's role")
            } catch {
                guard case .server(let refusal) = error else { throw error }
                #expect(refusal.sqlState.rawValue == "42501")
            }
            await program.close()
        }
    }

    @Test("row 28: refuses a listener in transaction mode, with exit 78")
    func refuses() async throws {
        try await TestDatabase.with { database in
            try await Pooler.with(database, mode: .transaction, backends: 2) { pooler in
                let secret = ["POSTLINE_JWT_SECRET": TestNode.secret, "POSTLINE_PORT": "0"]
                let refused: [([String: String], String)] = [
                    (["POSTLINE_DATABASE_URL": pooler.url], "Set POSTLINE_LISTEN_DATABASE_URL to a URL that leads to"),
                    (
                        ["POSTLINE_DATABASE_URL": database.url, "POSTLINE_LISTEN_DATABASE_URL": pooler.url],
                        "do not arrive over POSTLINE_LISTEN_DATABASE_URL"
                    ),
                    // Another database of the server does not help.
                    (
                        [
                            "POSTLINE_DATABASE_URL": database.url,
                            "POSTLINE_LISTEN_DATABASE_URL": database.url.replacing(database.name, with: "postgres"),
                        ], "do not arrive over POSTLINE_LISTEN_DATABASE_URL"
                    ),
                ]
                for (settings, sentence) in refused {
                    let result = try await Command.run(["serve"], environment: secret.merging(settings) { $1 })
                    #expect(result.status == 78, "\(result.errors)")
                    #expect(result.errors.contains(sentence), "\(result.errors)")
                    let sentences = result.errors.split(separator: "\n").filter { $0.hasPrefix("postline: ") }
                    #expect(sentences.count == 1, "\(result.errors)")
                }
                try await Self.expectServing(
                    database,
                    ["POSTLINE_DATABASE_URL": pooler.url, "POSTLINE_LISTEN_DATABASE_URL": database.url])
            }
        }
    }

    @Test("row 28: needs no second URL in session mode")
    func session() async throws {
        try await TestDatabase.with { database in
            try await Pooler.with(database, mode: .session, backends: 30) { pooler in
                try await Self.expectServing(database, ["POSTLINE_DATABASE_URL": pooler.url])
            }
        }
    }

    private static func expectServing(_ database: TestDatabase, _ environment: [String: String]) async throws {
        let node = try await ServeProcess.start(database, environment: environment)
        defer { node.command.signal(SIGKILL) }
        let alice = try await TestClient.connect(port: node.port)
        try await eventually("a sign-in") {
            // On a busy machine the pooler delays the first requests for longer than the node waits.
            do {
                try await alice.signIn(.alice)
                return true
            } catch let error as RemoteError where error.isRetryable {
                return false
            }
        }
        try await alice.sync()
        try await alice.send("through the pooler", to: Room.aliceBob)
        try await alice.follow { $0.has("through the pooler", in: Room.aliceBob) }
        #expect(try await alice.pushesUpTo("heard", on: database) == [])
        node.command.signal(SIGTERM)
        #expect(try await node.command.exit() == 0)
    }
}
