import Foundation
import LineClient
import Schema
import Testing
@testable import WireProtocol

/// E9: settings of a database or role that change how statements are parsed, executed or answered.
@Suite("Database and role settings", .timeLimit(.minutes(20)))
struct SessionSettingsTests {
    /// Settings that are set together, for the database and for its login role.
    private static let groups: [[String]] = [
        [
            "standard_conforming_strings = off", "escape_string_warning = on", "backslash_quote = off",
            "row_security = off", "DateStyle = 'SQL, DMY'", "IntervalStyle = 'sql_standard'",
            "TimeZone = 'Asia/Kathmandu'", "bytea_output = escape", "extra_float_digits = -10",
            "quote_all_identifiers = on", "transform_null_equals = on", "array_nulls = off", "xmloption = document",
            "check_function_bodies = off", "client_min_messages = debug1",
        ],
        [
            "default_transaction_isolation = serializable", "default_transaction_deferrable = on",
            "statement_timeout = '100ms'", "lock_timeout = '1ms'", "idle_in_transaction_session_timeout = '1ms'",
            "idle_session_timeout = '1s'", "search_path = pg_catalog", "client_encoding = 'LATIN1'",
            "exit_on_error = on", "default_table_access_method = heap", "lc_messages = 'C'",
        ],
        [
            "plan_cache_mode = force_custom_plan", "enable_indexscan = off", "enable_nestloop = off",
            "enable_hashjoin = off", "enable_bitmapscan = off", "jit = on", "jit_above_cost = 0",
            "from_collapse_limit = 1", "join_collapse_limit = 1", "geqo_threshold = 2", "gin_fuzzy_search_limit = 1",
            "role = 'postline_feed'", "plpgsql.extra_errors = 'all'", "search_path = '\"\"'", "DateStyle = 'German'",
            "TimeZone = 'EST5EDT'",
        ],
    ]

    @Test("unusual settings do not change what Postline does")
    func overridden() async throws {
        for group in Self.groups {
            try await TestDatabase.with(migrated: false) { database in
                func set(_ whose: String) -> String {
                    group.map { "alter \(whose) set \($0)" }.joined(separator: "; ")
                }
                // The role exists, since the template was migrated.
                try await TestDatabase.with { _ in }
                try await database.psql(
                    "\(set("database \(database.name)")); \(set("role postline in database \(database.name)"))")
                let migrator = Migrator(url: database.adminURL, logger: .quiet)
                try await migrator.migrate(loginRole: .init(name: "postline", password: nil))
                try await migrator.seed()
                #expect(try await migrator.migrate(loginRole: nil).isEmpty)
                try await withNode(database) { node in
                    let alice = try await node.signedIn(.alice)
                    let sam = try await node.stranger("Sam O'Stranger \\ Öz")
                    let room = try await sam.conversation(with: Person.alice.id)
                    let sent = try await sam.send("a \\ backslash and a ' quote", to: room)
                    let listed = try await alice.call("messages.list", ["conversation_id": .string(room)])
                    #expect(listed["messages"]?[0]?["content"] == sent["content"], "\(group)")
                    let time = try #require(listed["messages"]?[0]?["created_at"]?.stringValue)
                    #expect(time.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d+Z/) != nil, "\(group): \(time)")
                    let found = try await alice.call("profiles.search", ["query": "stranger"])
                    #expect(found["profiles"]?.arrayValue?.count == 1, "\(group)")
                    let saved = try await alice.call("me.update", ["date_of_birth": "1990-02-28"])
                    #expect(saved["date_of_birth"] == "1990-02-28", "\(group)")
                    try await alice.sync()
                    #expect(await alice.state.has("a \\ backslash and a ' quote", in: room), "\(group)")
                }
                let doctor = try await Command.run(
                    ["doctor"],
                    environment: [
                        "POSTLINE_DATABASE_URL": database.url, "POSTLINE_ADMIN_DATABASE_URL": database.adminURL,
                        "POSTLINE_JWT_SECRET": TestNode.secret, "POSTLINE_PORT": "0", "POSTLINE_HTTP_PORT": "0",
                    ])
                #expect(doctor.output.contains("Postline's sessions have the settings"), "\(group): \(doctor.output)")
            }
        }
    }

    @Test("a short timeout and large objects' privileges are no findings")
    func harmless() async throws {
        try await TestDatabase.with { database in
            try await database.psql(
                """
                alter role postline in database \(database.name) set statement_timeout = 1;
                alter database \(database.name) set lo_compat_privileges = on
                """)
            for _ in 1...5 {
                let doctor = try await Command.run(
                    ["doctor"],
                    environment: [
                        "POSTLINE_DATABASE_URL": database.url, "POSTLINE_JWT_SECRET": TestNode.secret,
                        "POSTLINE_PORT": "0", "POSTLINE_HTTP_PORT": "0",
                    ])
                #expect(doctor.output.contains("Postline's sessions have the settings"), "\(doctor.output)")
                #expect(!doctor.output.contains("statement timeout"), "\(doctor.output)")
            }
        }
    }

    @Test("doctor names settings that only a superuser may change")
    func named() async throws {
        try await TestDatabase.with { database in
            try await database.psql("alter database \(database.name) set session_replication_role = replica")
            let doctor = try await Command.run(
                ["doctor"],
                environment: [
                    "POSTLINE_DATABASE_URL": database.url, "POSTLINE_JWT_SECRET": TestNode.secret,
                    "POSTLINE_PORT": "0", "POSTLINE_HTTP_PORT": "0",
                ])
            #expect(doctor.status == 1)
            #expect(doctor.output.contains("session_replication_role is replica"), "\(doctor.output)")
        }
    }
}
