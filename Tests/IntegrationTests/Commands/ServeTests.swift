import BoundedWait
import Foundation
import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("postline serve, migrate and token", .timeLimit(.minutes(20)))
struct ServeTests {
    private func environment(_ database: TestDatabase, port: Int = 0) -> [String: String] {
        [
            "POSTLINE_DATABASE_URL": database.url, "POSTLINE_ADMIN_DATABASE_URL": database.adminURL,
            "POSTLINE_JWT_SECRET": TestNode.secret, "POSTLINE_PORT": "\(port)",
            "POSTLINE_OPERATIONS_PORT": "0",
        ]
    }

    @Test("row 52: without migrations serve says so, and exits with 78")
    func notMigrated() async throws {
        try await TestDatabase.with(migrated: false) { database in
            try await database.psql(
                "do $$ begin create role postline login noinherit; exception when duplicate_object or unique_violation then null; end $$"
            )
            let result = try await Command.run(["serve"], environment: environment(database))
            #expect(result.status == 78)
            #expect(result.errors.contains("postline: The database is not migrated: run `postline migrate`"))
            let token = try await Command.run(["token", "alice@example.com"], environment: environment(database))
            #expect(token.status == 78)
            #expect(token.errors.hasPrefix("postline: The database is not migrated: run `postline migrate`"))
        }
    }

    @Test("refuses a database that another version migrated, with exit 78")
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
            // A later version does not exclude an earlier one.
            try await database.psql("comment on schema api is '\(own) fedcba9876543210'")
            try await ServeProcess.with(database) { node in
                let client = try await node.signedIn(.alice)
                await client.close()
            }
        }
    }

    private static let signed = "select obj_description('api'::regnamespace, 'pg_namespace')"

    @Test("a node that traps ends at once, without a backtrace", arguments: [SIGILL, SIGTRAP, SIGSEGV, SIGABRT])
    func trapped(_ signal: Int32) async throws {
        try await TestDatabase.with { database in
            let node = try await ServeProcess.start(database)
            node.command.signal(signal)
            #expect(try await node.command.exit() == -signal)
            let output = node.command.output + node.command.errors
            #expect(!output.contains("Program crashed") && !output.contains("Backtrace"), "\(output)")
        }
    }

    @Test("row 52: an invalid setting is named in one sentence, with exit 78")
    func badConfiguration() async throws {
        let external = ["POSTLINE_AUTH": "external", "POSTLINE_JWT_SECRET": ""]
        let bad: [([String], [String: String], String)] = [
            (["--port", "http"], [:], "postline: --port must be an integer from 0 to 65535."),
            ([], ["POSTLINE_PORT": "70000"], "POSTLINE_PORT must be an integer from 0 to 65535."),
            (
                [], ["POSTLINE_OPERATIONS_PORT": "x"],
                "POSTLINE_OPERATIONS_PORT must be an integer from 0 to 65535, or off."
            ),
            (
                [], ["POSTLINE_PORT": "7480", "POSTLINE_OPERATIONS_PORT": "7480"],
                "POSTLINE_PORT and POSTLINE_OPERATIONS_PORT must not be the same: both are 7480."
            ),
            (
                [], ["POSTLINE_HTTP_PORT": "7432"],
                "POSTLINE_PORT and POSTLINE_HTTP_PORT must not be the same: both are 7432."
            ),
            (
                ["--http-port", "7432"], [:],
                "POSTLINE_PORT and --http-port must not be the same: both are 7432."
            ),
            (["--http-port", "x"], [:], "postline: --http-port must be an integer from 0 to 65535, or off."),
            (
                ["--http-host", "a b"], [:],
                "--http-host must be an address or a name of this machine, without a port, such as 127.0.0.1, or "
                    + "0.0.0.0 for all that it has."
            ),
            (["--console", "yes"], [:], "--console must be one of on, off."),
            (
                [], ["POSTLINE_HTTP_ORIGINS": "app.example.com"],
                "POSTLINE_HTTP_ORIGINS must be origins, such as https://app.example.com, separated by commas, or *: "
                    + "\"app.example.com\" is not."
            ),
            (
                [], ["POSTLINE_HTTP_TRUSTED_PROXIES": "10.0.0.0/33"],
                "POSTLINE_HTTP_TRUSTED_PROXIES must be addresses or networks, such as 10.0.0.0/8, separated by commas."
            ),
            (["--pool-size", "0"], [:], "--pool-size must be an integer from 1 to 1000."),
            (["--pool-size", "-1"], [:], "--pool-size must be an integer from 1 to 1000."),
            ([], ["POSTLINE_DATABASE_URL": ""], "No database: set POSTLINE_DATABASE_URL"),
            ([], ["POSTLINE_JWT_SECRET": ""], "No token secret: set POSTLINE_JWT_SECRET"),
            ([], ["POSTLINE_JWT_SECRET": "short"], "POSTLINE_JWT_SECRET cannot be used: "),
            ([], ["POSTLINE_JWT_SECRET": "short"], "at least 32 bytes"),
            ([], external, "or POSTLINE_JWKS_FILE to a set of public keys."),
            (
                [], external.merging(["POSTLINE_JWKS_FILE": "/nowhere.jwks"]) { $1 },
                "POSTLINE_JWKS_FILE cannot be used: /nowhere.jwks cannot be read."
            ),
            (
                [], external.merging(["POSTLINE_JWKS_FILE": "/dev/null"]) { $1 },
                "POSTLINE_JWKS_FILE cannot be used: "
            ),
            (
                [], ["POSTLINE_JWKS_FILE": "/nowhere.jwks"],
                "Set POSTLINE_JWT_SECRET or POSTLINE_JWKS_FILE, not both"
            ),
            (
                [], ["POSTLINE_JWT_SECRET": "", "POSTLINE_JWKS_FILE": "/nowhere.jwks"],
                "POSTLINE_JWKS_FILE goes with POSTLINE_AUTH=external"
            ),
            (["--config", "/nowhere.json"], [:], "The config file /nowhere.json cannot be read."),
            ([], ["POSTLINE_CONFIG": "/nowhere.json"], "The config file /nowhere.json cannot be read."),
        ]
        // Nothing reaches a database.
        let good = ["POSTLINE_DATABASE_URL": "postgresql:///nowhere", "POSTLINE_JWT_SECRET": TestNode.secret]
        for (arguments, changes, sentence) in bad { try await Self.expectRefused(arguments, good, changes, sentence) }
        try await Self.expectRefused(
            [], good.filter { $0.key != "POSTLINE_DATABASE_URL" }, [:], "POSTLINE_DATABASE_URL")
        try await Self.expectRefused([], good.filter { $0.key != "POSTLINE_JWT_SECRET" }, [:], "POSTLINE_JWT_SECRET")
    }

    @Test("row 52: an invalid config file names the key, with exit 78")
    func badFile() async throws {
        let config = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: config) }
        let bad = [
            ("", "must hold one JSON object."), ("[]", "must hold one JSON object."),
            (#"{"port": 7432"#, "must hold one JSON object."),
            ("{\n  \"port\": 7432,\n}", "must hold one JSON object. Line 3, column 1: "),
            (#"{"port": true}"#, "port must be a text or a number."),
            (#"{"host": ["127.0.0.1"]}"#, "host must be a text or a number."),
            (#"{"host": null}"#, "host must be a text or a number."),
            (#"{"port": 7432, "port": 7433}"#, "has the key port twice."),
            (
                #"{"port": 70000}"#,
                "postline: port in the config file \(config.path) must be an integer from 0 to 65535."
            ),
            (
                #"{"pool_size": "many"}"#,
                "pool_size in the config file \(config.path) must be an integer from 1 to 1000."
            ),
            (#"{"rate_limits": "of"}"#, "rate_limits in the config file \(config.path) must be one of on, off."),
        ]
        let good = ["POSTLINE_DATABASE_URL": "postgresql:///nowhere", "POSTLINE_JWT_SECRET": TestNode.secret]
        for (text, sentence) in bad {
            try Data(text.utf8).write(to: config)
            try await Self.expectRefused(["--config", config.path], good, [:], sentence)
        }
        // The source with the highest precedence is named.
        try Data(#"{"pool_size": "many"}"#.utf8).write(to: config)
        let variable = ["POSTLINE_POOL_SIZE": "few"]
        try await Self.expectRefused(["--config", config.path], good, variable, "postline: POSTLINE_POOL_SIZE must be")
        try await Self.expectRefused(
            ["--config", config.path, "--pool-size", "none"], good, variable, "postline: --pool-size must be")
    }

    @Test("row 52: an invalid connection string exits 78, and is not printed")
    func malformedURLs() async throws {
        let good = ["POSTLINE_DATABASE_URL": "postgresql:///nowhere", "POSTLINE_JWT_SECRET": TestNode.secret]
        for name in ["POSTLINE_DATABASE_URL", "POSTLINE_LISTEN_DATABASE_URL", "POSTLINE_ADMIN_DATABASE_URL"] {
            let bad = [
                ("this is no url", "\(name) cannot be read as a connection string: write a URL such as"),
                ("postgresql://ada:s3cret@[::1/", "\(name) cannot be read as a connection string"),
                ("password=s3cret hots=db", "\(name) cannot be read as a connection string"),
                ("postgresql://ada:s3/cret@db/app", "\(name) has no usable port"),
                ("postgresql://ada:s3cret@db/app?sslmode=s3cret", "\(name) has no usable sslmode"),
            ]
            for (url, sentence) in bad {
                let errors = try await Self.expectRefused([], good, [name: url], sentence)
                #expect(!errors.contains("s3") && !errors.contains("cret@"), "\(errors)")
            }
            let migrated = try await Command.run(["migrate"], environment: good.merging([name: "no url"]) { $1 })
            #expect(migrated.status == 78, "\(migrated.errors)")
        }
    }

    @Test("row 55: a host that cannot be bound names the setting, exit 78")
    func badHosts() async throws {
        try await TestDatabase.with { database in
            let good = environment(database)
            for name in ["POSTLINE_HOST", "POSTLINE_OPERATIONS_HOST"] {
                for host in ["not an address", "", "127.0.0.1:7432", "http://localhost", "[::1]", "999.0.0.1", "1"] {
                    try await Self.expectRefused(
                        [], good, [name: host], "\(name) must be an address or a name of this machine, without a port")
                }
                // Errors that only listening reveals. By then the log has lines of what started and stopped.
                for (host, why) in [
                    ("192.0.2.1", "this machine does not have that address."),
                    ("no-such-host.invalid", "no address is found"),
                ] {
                    let errors = try await Self.expectRefused([], good, [name: host], "Set \(name) to", afterLog: true)
                    #expect(errors.contains("postline: Cannot listen on \(host)") && errors.contains(why), "\(errors)")
                }
            }
        }
    }

    @Test("row 55: a hundred starts that cannot listen each exit cleanly")
    func cannotListen() async throws {
        try await TestDatabase.with { database in
            let environment = environment(database).merging(["POSTLINE_HOST": "192.0.2.1"]) { $1 }
            try await withThrowingTaskGroup { group in
                for _ in 0..<4 {
                    group.addTask {
                        for _ in 0..<25 {
                            let result = try await Command.run(["serve"], environment: environment)
                            #expect(result.status == 78, "\(result.errors)")
                            #expect(result.errors.contains("Set POSTLINE_HOST to"), "\(result.errors)")
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("row 57: an unknown key or flag is refused with the nearest name")
    func unknownSettings() async throws {
        let config = FileManager.default.temporaryDirectory.appending(path: "\(UUID().uuidString).json")
        defer { try? FileManager.default.removeItem(at: config) }
        let good = ["POSTLINE_DATABASE_URL": "postgresql:///nowhere", "POSTLINE_JWT_SECRET": TestNode.secret]
        for (key, nearest) in [("databse_url", "database_url"), ("poolSize", "pool_size"), ("hots", "host")] {
            try Data(#"{"\#(key)": "x"}"#.utf8).write(to: config)
            try await Self.expectRefused(
                ["--config", config.path], good, [:],
                "has an unknown setting: \(key). Did you mean \(nearest)?")
        }
        try Data(#"{"colour": "red"}"#.utf8).write(to: config)
        try await Self.expectRefused(["--config", config.path], good, [:], "has an unknown setting: colour.")
        for (flag, nearest) in [("--prot", "--port"), ("--pool-sizes", "--pool-size")] {
            try await Self.expectRefused(
                [flag, "7"], good, [:], "Unknown option '\(flag)'. Did you mean '\(nearest)'?")
        }
        try await Self.expectRefused(
            ["--colour", "red"], good, [:],
            "Unknown option '--colour'. `postline serve --help` lists those that there are.")
    }

    @Test("row 57: an unknown variable is a warning with the nearest name")
    func unknownVariables() async throws {
        try await TestDatabase.with { database in
            let others = [
                "POSTLINE_HOTS": "192.0.2.1", "POSTLINE_COLOUR_OF_ALL": "red", "POSTLINE_TEST_SEED": "1",
                "POSTLINE_PASSWORD": "x",
            ]
            let node = try await ServeProcess.start(database, environment: others)
            defer { node.command.signal(SIGKILL) }
            let client = try await node.connect()
            try await client.call("server.info")
            await client.close()
            let warnings = node.command.errors.split(separator: "\n").filter { $0.contains("is not a setting") }
            #expect(warnings.count == 2, "\(warnings)")
            #expect(warnings.contains { $0.hasSuffix(" nearest=POSTLINE_HOST variable=POSTLINE_HOTS") }, "\(warnings)")
            #expect(warnings.contains { $0.hasSuffix("ignored variable=POSTLINE_COLOUR_OF_ALL") }, "\(warnings)")
            let doctor = try await Command.run(
                ["doctor"],
                environment: [
                    "POSTLINE_DATABASE_URL": database.url, "POSTLINE_JWT_SECRET": TestNode.secret, "POSTLINE_HOTS": "x",
                ])
            #expect(
                doctor.output.contains("The environment variable POSTLINE_HOTS is not a setting"), "\(doctor.output)")
            let misspelt = try await Command.run(
                ["serve"],
                environment: ["POSTLINE_DATABSE_URL": database.url, "POSTLINE_JWT_SECRET": TestNode.secret])
            #expect(misspelt.errors.contains("nearest=POSTLINE_DATABASE_URL"), "\(misspelt.errors)")
            #expect(misspelt.errors.contains("No database: set POSTLINE_DATABASE_URL"), "\(misspelt.errors)")
        }
    }

    /// Starts a server that must refuse with this last line, and returns its output.
    ///
    /// - Parameter afterLog: True if log lines may precede the error.
    @discardableResult
    private static func expectRefused(
        _ arguments: [String], _ environment: [String: String], _ changes: [String: String], _ sentence: String,
        afterLog: Bool = false, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let result = try await Command.run(["serve"] + arguments, environment: environment.merging(changes) { $1 })
        let what: Comment = "\(arguments) \(changes): \(result.errors)"
        let lines = result.errors.split(separator: "\n")
        let last = lines.last ?? ""
        #expect(result.status == 78, what, sourceLocation: sourceLocation)
        #expect(last.hasPrefix("postline: ") && last.contains(sentence), what, sourceLocation: sourceLocation)
        let isLogged = afterLog && lines.dropLast().allSatisfy { $0.contains(" info ") }
        #expect(isLogged || lines.count == 1, what, sourceLocation: sourceLocation)
        return result.errors
    }

    @Test("row 52: refuses a superuser or the tables' owner as login role")
    func superuser() async throws {
        try await TestDatabase.with { database in
            let result = try await Command.run(
                ["serve"],
                environment: environment(database).merging(["POSTLINE_DATABASE_URL": database.adminURL]) { $1 })
            #expect(result.status == 78)
            #expect(result.errors.contains("superuser"))
        }
    }

    @Test("row 53: reports a port in use")
    func portInUse() async throws {
        try await withNode { node in
            let result = try await Command.run(["serve"], environment: environment(node.database, port: node.port))
            #expect(result.status != 0)
            #expect(
                result.errors.contains(
                    "postline: Cannot listen on 127.0.0.1, port \(node.port): the port is in use. Stop what listens there, "
                        + "or set POSTLINE_PORT to another."))
        }
    }

    @Test("row 53: waits for an unreachable database, and logs that")
    func waits() async throws {
        let command = try Command(
            ["serve"],
            environment: [
                "POSTLINE_DATABASE_URL": "postgresql://postline@/nowhere?host=/nowhere/at/all",
                "POSTLINE_JWT_SECRET": TestNode.secret, "POSTLINE_PORT": "0",
                "POSTLINE_OPERATIONS_PORT": "0",
            ])
        defer { command.signal(SIGKILL) }
        try await command.waitForErrors("waiting for the database")
        command.signal(SIGTERM)
        _ = try await command.exit()
    }

    @Test("migrate prepares a database for serve, and can be repeated", .covers("A31"))
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

    @Test("migrate names changed functions, and counts the others")
    func migratesChange() async throws {
        try await TestDatabase.with { database in
            try await database.psql("update app.migrations set hash = 'x' || substr(hash, 2) where name = 'functions'")
            let one = try await Command.run(["migrate"], environment: environment(database))
            #expect(one.status == 0, "\(one.errors)")
            let named = #/Applied: functions and policies \(\d+ files, of which changed: functions/[a-z_/]+\.sql\)\.\n/#
            #expect(one.output.wholeMatch(of: named) != nil, "\(one.output)")
            let migration = "migrations/20261122000400_avatar_circles.sql"
            try await database.psql(
                "update app.migrations set hash = 'x' where name = 'functions'; "
                    + "delete from app.migrations where name = '20261122000400_avatar_circles'; "
                    + "delete from public.built_in_avatars where id like '%_circle'")
            let many = try await Command.run(["migrate"], environment: environment(database))
            #expect(many.status == 0, "\(many.errors)")
            #expect(many.output.hasPrefix("Applied: \(migration), functions and policies ("), "\(many.output)")
            #expect(many.output.utf8.count < 200)
        }
    }

    @Test("row 29: concurrent migrations apply each file once")
    func migratesAtOnce() async throws {
        try await TestDatabase.with(migrated: false) { database in
            async let one = Command.run(["migrate"], environment: environment(database))
            async let other = Command.run(["migrate"], environment: environment(database))
            let results = try await [one, other]
            for result in results { #expect(result.status == 0, "\(result.errors)") }
            let applied = results.flatMap { $0.output.matches(of: #/[a-z]+/[0-9a-z_]+\.sql|functions and policies/#) }
                .map { String($0.output) }
            #expect(Set(applied).count == applied.count && applied.contains("functions and policies"), "\(applied)")
        }
    }

    @Test("restarts a migration that stopped after creating its table")
    func emptyLedger() async throws {
        try await TestDatabase.with(migrated: false) { database in
            try await database.psql(
                """
                create schema app;
                create table app.migrations (
                    name text primary key, hash text not null, applied_at timestamptz not null default now())
                """)
            let result = try await Command.run(["migrate"], environment: environment(database))
            #expect(result.status == 0, "\(result.errors)")
            #expect(try await database.value("select count(*) > 10 from app.migrations") == "t")
        }
    }

    @Test("row 30: refuses an edited migration by name, with exit 78")
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
            let nowhere = try await Command.run(["token", "alice@example.com", "--directory", "/nowhere"])
            #expect(nowhere.status == 78 && nowhere.errors.contains("/nowhere holds no dev world"))
        }
    }

    @Test("row 50: on SIGTERM serve answers, says goodbye, and exits with 0")
    func stops() async throws {
        try await TestDatabase.with { database in
            // Serve has a fixed port.
            let node = try await ServeProcess.start(database, port: try await unusedPort())
            defer { node.command.signal(SIGKILL) }
            let alice = try await node.signedIn(.alice)
            for number in 0..<50 {
                try await alice.line.send(
                    line:
                        #"{"jsonrpc":"2.0","id":"\#(number)","method":"messages.send","params":{"conversation_id":"\#(Room.aliceBob)","content":"\#(number)"}}"#
                )
            }
            #expect(try await alice.nextLine().contains("\"seq\":91,"))
            _ = try await node.stop()
            try await within("the end") { await alice.line.waitUntilClosed() }
            #expect(await alice.line.goodbye?.code == "shutting_down")
            // Each acknowledged send is stored in order; no other is stored in part.
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
