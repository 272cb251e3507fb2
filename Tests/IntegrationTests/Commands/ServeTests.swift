import Foundation
import LineClient
import Messaging
import Testing

@Suite("postline serve, migrate and token, as a person uses them", .timeLimit(.minutes(10)))
struct ServeTests {
    private func environment(_ database: TestDatabase, port: Int = 0) -> [String: String] {
        [
            "POSTLINE_DATABASE_URL": database.url, "POSTLINE_ADMIN_DATABASE_URL": database.adminURL,
            "POSTLINE_JWT_SECRET": TestNode.secret, "POSTLINE_PORT": "\(port)",
            "POSTLINE_OPERATIONS_PORT": "0",
        ]
    }

    @Test("row 52: on a database that is not migrated serve says so in a sentence, and exits 78")
    func notMigrated() async throws {
        try await TestDatabase.with(migrated: false) { database in
            try await database.psql(
                "do $$ begin create role postline login noinherit; exception when duplicate_object or unique_violation then null; end $$"
            )
            let result = try await Command.run(["serve"], environment: environment(database))
            #expect(result.status == 78)
            #expect(result.errors.contains("postline: The database is not migrated: run `postline migrate`"))
        }
    }

    @Test("a database that other versions migrated and this one did not is refused with what to do, exit 78")
    func otherVersion() async throws {
        try await TestDatabase.with { database in
            let own = try #require(try await database.value(Self.signed))
            try await database.psql("comment on schema api is '0123456789abcdef'")
            let result = try await Command.run(["serve"], environment: environment(database))
            #expect(result.status == 78)
            #expect(
                result.errors.contains("postline: The database was never migrated by this version of Postline: run"))
            let migrated = try await Command.run(["migrate"], environment: environment(database))
            #expect(migrated.status == 0, "\(migrated.errors)")
            #expect(try await database.value(Self.signed) == "0123456789abcdef \(own)")
            // A later version does not shut out an earlier one.
            try await database.psql("comment on schema api is '\(own) fedcba9876543210'")
            try await ServeProcess.with(database) { node in
                let client = try await node.signedIn(.alice)
                await client.close()
            }
        }
    }

    private static let signed = "select obj_description('api'::regnamespace, 'pg_namespace')"

    @Test("row 52: a bad configuration is one clear sentence that names the setting, and exit 78")
    func badConfiguration() async throws {
        try await TestDatabase.with { database in
            let config = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
            defer { try? FileManager.default.removeItem(at: config) }
            try Data(#"{"databse_url": "x"}"#.utf8).write(to: config)
            let good = environment(database)
            let bad: [([String], [String: String], String)] = [
                (["--port", "http"], [:], "POSTLINE_PORT must be an integer from 0 to 65535."),
                ([], ["POSTLINE_PORT": "70000"], "POSTLINE_PORT must be an integer from 0 to 65535."),
                (
                    [], ["POSTLINE_OPERATIONS_PORT": "x"],
                    "POSTLINE_OPERATIONS_PORT must be an integer from 0 to 65535, or off."
                ),
                (
                    ["--max-connections-per-address", "0"], [:],
                    "POSTLINE_MAX_CONNECTIONS_PER_ADDRESS must be an integer from 1"
                ),
                ([], ["POSTLINE_POOL_SIZE": "0"], "POSTLINE_POOL_SIZE must be an integer from 1"),
                ([], ["POSTLINE_AUTH": "none"], "POSTLINE_AUTH must be one of builtin, external."),
                ([], ["POSTLINE_JWT_SECRET": "short"], "at least 32 bytes"),
                (["--config", config.path], [:], "databse_url"),
                (["--config", "/nowhere.json"], [:], "/nowhere.json"),
                ([], ["POSTLINE_LOG_LEVEL": "loud"], "POSTLINE_LOG_LEVEL must be one of"),
            ]
            for (arguments, changes, sentence) in bad {
                let result = try await Command.run(["serve"] + arguments, environment: good.merging(changes) { $1 })
                #expect(result.status == 78, "\(arguments) \(changes)")
                #expect(result.errors.contains(sentence), "\(arguments) \(changes): \(result.errors)")
                #expect(result.errors.split(separator: "\n").count == 1, "\(result.errors)")
            }
            for missing in ["POSTLINE_DATABASE_URL", "POSTLINE_JWT_SECRET"] {
                let result = try await Command.run(["serve"], environment: good.filter { $0.key != missing })
                #expect(result.status == 78)
                #expect(result.errors.contains(missing))
            }
        }
    }

    @Test("row 52: a login role that the rules would not hold for is refused: a superuser, and the tables' owner")
    func superuser() async throws {
        try await TestDatabase.with { database in
            let result = try await Command.run(
                ["serve"],
                environment: environment(database).merging(["POSTLINE_DATABASE_URL": database.adminURL]) { $1 })
            #expect(result.status == 78)
            #expect(result.errors.contains("superuser"))
        }
    }

    @Test("row 53: a port in use is told in a clear sentence")
    func portInUse() async throws {
        try await withNode { node in
            let result = try await Command.run(["serve"], environment: environment(node.database, port: node.port))
            #expect(result.status != 0)
            #expect(
                result.errors.contains("postline: Cannot listen on 127.0.0.1, port \(node.port): the port is in use."))
        }
    }

    @Test("row 53: a database that cannot be reached is waited for, and that is said")
    func waits() async throws {
        let command = try Command(
            ["serve"],
            environment: [
                "POSTLINE_DATABASE_URL": "postgresql://postline@/nowhere?host=/nowhere/at/all",
                "POSTLINE_JWT_SECRET": TestNode.secret, "POSTLINE_PORT": "0",
                "POSTLINE_OPERATIONS_PORT": "0",
            ])
        defer { command.signal(SIGKILL) }
        try await command.complains("waiting for the database")
        command.signal(SIGTERM)
        _ = try await command.exit()
    }

    @Test("migrate makes a database that serve serves; again it has nothing to do")
    func migrates() async throws {
        try await TestDatabase.with(migrated: false) { database in
            let first = try await Command.run(["migrate"], environment: environment(database))
            #expect(first.status == 0, "\(first.errors)")
            #expect(first.output.contains("Applied: "))
            let second = try await Command.run(["migrate"], environment: environment(database))
            #expect(second.status == 0)
            #expect(second.output == "The database is up to date.\n")
            try await withNode(database) { node in _ = try await node.stranger().call("me.get") }
        }
    }

    @Test("row 29: of two that migrate at once, one does")
    func migratesAtOnce() async throws {
        try await TestDatabase.with(migrated: false) { database in
            async let one = Command.run(["migrate"], environment: environment(database))
            async let other = Command.run(["migrate"], environment: environment(database))
            let results = try await [one, other]
            for result in results { #expect(result.status == 0, "\(result.errors)") }
            #expect(results.filter { $0.output.hasPrefix("Applied: ") }.count == 1)
        }
    }

    @Test("row 30: a migration that was edited is refused with its name, and exit 78")
    func edited() async throws {
        try await TestDatabase.with { database in
            try await database.psql("update app.migrations set hash = 'other' where name like '%_messages%'")
            let result = try await Command.run(["migrate"], environment: environment(database))
            #expect(result.status == 78, "\(result.errors)")
            #expect(result.errors.contains("_messages"))
        }
    }

    @Test("a token of `postline token` signs a client in")
    func token() async throws {
        try await withNode { node in
            let result = try await Command.run(["token", "alice@example.com"], environment: environment(node.database))
            #expect(result.status == 0, "\(result.errors)")
            let client = try await node.connect()
            try await client.call(
                "session.authenticate",
                ["access_token": .string(result.output.trimmingCharacters(in: .whitespacesAndNewlines))])
            #expect(try await client.call("me.get")["username"] == "alice")
            let unknown = try await Command.run(
                ["token", "nobody@example.com"], environment: environment(node.database))
            #expect(unknown.status == 1)
            #expect(unknown.errors.contains("nobody@example.com"))
        }
    }

    @Test("row 50: told to stop, serve answers what it has taken, says goodbye, and exits 0 in time")
    func stops() async throws {
        try await TestDatabase.with { database in
            // A port that was free a moment ago: serve is told one, and does not choose.
            let port = try await withNode(database) { $0.port }
            let command = try Command(["serve"], environment: environment(database, port: port))
            defer { command.signal(SIGKILL) }
            try await command.complains("\(port)")
            let alice = try await TestClient.connect(port: port)
            try await alice.signIn(.alice)
            let start = ContinuousClock.now
            for number in 0..<50 {
                try await alice.line.send(
                    line:
                        #"{"jsonrpc":"2.0","id":"\#(number)","method":"messages.send","params":{"conversation_id":"\#(Room.aliceBob)","content":"\#(number)"}}"#
                )
            }
            #expect(try await alice.nextLine().contains("\"seq\":91,"))
            command.signal(SIGTERM)
            #expect(try await command.exit() == 0)
            #expect(.now - start < .seconds(10))
            try await within("the end") { await alice.line.waitUntilClosed() }
            #expect(await alice.line.goodbye?.code == "shutting_down")
            // Each that was answered is there, in order; of the others none is there in part.
            var answered = 1
            while (try? await alice.nextLine()) != nil { answered += 1 }
            let stored = try await database.column(
                "select content from public.messages where conversation_id = '\(Room.aliceBob)' and seq > 90 order by seq"
            )
            #expect(stored.count == answered)
            #expect(stored == (0..<answered).map { "\($0)" })
        }
    }
}
