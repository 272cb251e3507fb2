import LineClient
import Testing
import WireProtocol

@Suite("auth.refresh", .timeLimit(.minutes(20)))
struct RefreshTests {
    /// Refreshes a token, on any connection.
    private static func refresh(_ tokens: JSON, on node: TestNode) async throws -> JSON {
        try await node.connect().call("auth.refresh", ["refresh_token": tokens["refresh_token"] ?? .null])
    }

    private static func refused(_ code: ErrorCode, _ tokens: JSON, on node: TestNode) async throws {
        try await node.connect().refused(code, "auth.refresh", ["refresh_token": tokens["refresh_token"] ?? .null])
    }

    @Test("returns tokens of the same session")
    func rotation() async throws {
        try await withNode { node in
            let first = try await node.connect().logIn(Person.alice.email)
            let client = try await node.connect()
            let second = try await client.call("auth.refresh", ["refresh_token": first["refresh_token"] ?? ""])
            expectShape(second, Shape.tokens)
            #expect(second["refresh_token"] != first["refresh_token"])
            #expect(second["user_id"]?.stringValue == Person.alice.id)
            try await client.refused(.unauthenticated, "me.get")
            var sessions: [JSON?] = []
            for tokens in [first, second] {
                let signedIn = try await node.connect()
                sessions.append(try await signedIn.authenticate(tokens)["session_id"])
                #expect(try await signedIn.call("me.get")["username"] == "alice")
            }
            #expect(sessions[0] == sessions[1])
            let third = try await Self.refresh(second, on: node)
            #expect(third["refresh_token"] != second["refresh_token"])
            // A signed-in connection does not change either.
            let bob = try await node.signedIn(.bob)
            try await bob.call("auth.refresh", ["refresh_token": third["refresh_token"] ?? ""])
            #expect(try await bob.call("me.get")["username"] == "bob")
        }
    }

    @Test("row 45: repeats the answer for the previous token in the reuse window")
    func reuse() async throws {
        try await withTwoNodes { one, other in
            let first = try await one.connect().logIn(Person.alice.email)
            let second = try await Self.refresh(first, on: one)
            #expect(try await Self.refresh(first, on: other)["refresh_token"] == second["refresh_token"])
            // The window ends after ten seconds.
            try await one.database.setClock(ahead: "5 seconds")
            #expect(try await Self.refresh(first, on: one)["refresh_token"] == second["refresh_token"])
            #expect(try await Self.refresh(second, on: one)["refresh_token"] != second["refresh_token"])
        }
    }

    @Test("row 45: ends the session for a previous token after the reuse window")
    func pastWindow() async throws {
        try await withNode { node in
            let first = try await node.connect().logIn(Person.alice.email)
            let second = try await Self.refresh(first, on: node)
            try await node.database.setClock(ahead: "11 seconds")
            try await Self.refused(.sessionRevoked, first, on: node)
            try await Self.refused(.sessionRevoked, second, on: node)
        }
    }

    @Test("row 45: applies the configured reuse window")
    func window() async throws {
        for (seconds, ahead, isTaken) in [(60, "50 seconds", true), (0, "1 second", false)] {
            var settings = NodeSettings()
            settings.refreshReuseSeconds = seconds
            try await withNode(settings) { node in
                let first = try await node.connect().logIn(Person.alice.email)
                let second = try await Self.refresh(first, on: node)
                try await node.database.setClock(ahead: ahead)
                if isTaken {
                    #expect(try await Self.refresh(first, on: node)["refresh_token"] == second["refresh_token"])
                } else {
                    try await Self.refused(.sessionRevoked, first, on: node)
                }
            }
        }
    }

    @Test("row 45: returns one successor to concurrent calls on two nodes")
    func atOnce() async throws {
        try await withTwoNodes { one, other in
            let first = try await one.connect().logIn(Person.alice.email)
            let children = try await withThrowingTaskGroup(of: String.self) { group in
                for number in 0..<20 {
                    group.addTask {
                        let tokens = try await Self.refresh(first, on: number.isMultiple(of: 2) ? one : other)
                        return tokens["refresh_token"]?.stringValue ?? ""
                    }
                }
                return try await group.reduce(into: Set()) { $0.insert($1) }
            }
            #expect(children.count == 1 && !children.contains(""))
        }
    }

    @Test("row 45: ends only the session of an older token, on every node")
    func stolen() async throws {
        try await withTwoNodes { one, other in
            let first = try await one.connect().logIn(Person.alice.email)
            let second = try await Self.refresh(first, on: one)
            let third = try await Self.refresh(second, on: other)
            let connections = [
                try await one.signedIn(with: first), try await other.signedIn(with: second),
                try await other.signedIn(with: third),
            ]
            let elsewhere = try await other.signedIn(.alice)
            try await Self.refused(.sessionRevoked, first, on: one)
            #expect(
                try await one.database.value(
                    "select count(*) from app.sessions where user_id = '\(Person.alice.id)' and revoked_at is not null")
                    == "1")
            for connection in connections { try await connection.expectEnd() }
            for tokens in [first, second, third] {
                try await Self.refused(.sessionRevoked, tokens, on: other)
                try await other.connect().refused(
                    .sessionRevoked, "session.authenticate", ["access_token": tokens["access_token"] ?? ""])
            }
            #expect(try await elsewhere.call("me.get")["username"] == "alice")
        }
    }

    @Test("refresh rejects invalid tokens without ending a session")
    func garbage() async throws {
        try await withNode { node in
            let tokens = try await node.connect().logIn(Person.alice.email)
            let good = try #require(tokens["refresh_token"]?.stringValue)
            let parts = good.split(separator: ".").map(String.init)
            let forged = [
                "", "x", "..", good + "0", String(good.dropLast()), " " + good,
                tokens["access_token"]?.stringValue ?? "",
                "\(parts[0]).2.\(parts[2])", "\(parts[0]).-1.\(parts[2])", "\(nobody).0.\(parts[2])", "\(parts[0]).0.",
                "' or true --", String(repeating: "A", count: 50_000),
            ]
            let client = try await node.connect()
            for token in forged {
                try await client.refused(.invalidToken, "auth.refresh", ["refresh_token": .string(token)])
            }
            try await client.refused(.invalidParams, "auth.refresh", field: "refresh_token")
            try await client.refused(.invalidParams, "auth.refresh", ["refresh_token": 5], field: "refresh_token")
            _ = try await Self.refresh(tokens, on: node)
        }
    }

    @Test("stores no usable token")
    func stored() async throws {
        try await withNode { node in
            let tokens = try await node.connect().logIn(Person.alice.email)
            let next = try await Self.refresh(tokens, on: node)
            let tables = try await node.database.column(
                "select format('%I.%I', schemaname, tablename) from pg_tables where schemaname in ('public', 'app', 'auth')"
            )
            for tokens in [tokens, next] {
                for name in ["access_token", "refresh_token"] {
                    let secret = try #require(tokens[name]?.stringValue?.split(separator: ".").last)
                    for table in tables.compactMap({ $0 }) {
                        #expect(
                            try await node.database.value(
                                "select count(*) from \(table) as r where r::text like '%\(secret)%'") == "0",
                            "\(table)")
                    }
                }
            }
        }
    }
}
