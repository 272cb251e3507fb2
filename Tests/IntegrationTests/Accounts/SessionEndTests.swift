import DatabaseAccess
import LineClient
import NIOCore
@testable import Postgres
import TestSupport
import Testing
import WireProtocol

@Suite("auth.logout and auth.change_password", .timeLimit(.minutes(20)))
struct SessionEndTests {
    @Test("logout ends only its session, on every node", .covers("E15"))
    func logout() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.connect()
            let tokens = try await alice.logIn(Person.alice.email)
            let sameSession = try await other.signedIn(with: tokens)
            let elsewhere = try await other.signedIn(.alice)
            let bob = try await one.signedIn(.bob)
            #expect(try await alice.call("auth.logout") == ["revoked": 1])
            for client in [alice, sameSession] { try await client.expectEnd() }
            try await one.connect().refused(
                .sessionRevoked, "session.authenticate", ["access_token": tokens["access_token"] ?? ""])
            try await one.connect().refused(
                .sessionRevoked, "auth.refresh", ["refresh_token": tokens["refresh_token"] ?? ""])
            for client in [elsewhere, bob] { try await client.call("me.get") }
        }
    }

    @Test("logout with all ends all sessions of the user")
    func logoutAll() async throws {
        try await withTwoNodes { one, other in
            let sessions = [
                try await one.signedIn(.alice), try await one.signedIn(.alice), try await other.signedIn(.alice),
            ]
            let bob = try await other.signedIn(.bob)
            #expect(try await sessions[0].call("auth.logout", ["all": true]) == ["revoked": 3])
            for session in sessions { try await session.expectEnd() }
            try await bob.call("me.get")
            try await one.signedIn(.alice).call("me.get")
        }
    }

    @Test("rejects pipelined requests after a logout")
    func pipelined() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            try await alice.sync()
            let lines = [("auth.logout", "{}"), ("me.update", #"{"bio":"too late"}"#), ("me.get", "{}")].map {
                #"{"jsonrpc":"2.0","id":"\#($0)","method":"\#($0)","params":\#($1)}"# + "\n"
            }
            try await alice.line.send(bytes: ByteBuffer(string: lines.joined()))
            #expect(try await alice.nextLine().contains(#""result":{"revoked":1}"#))
            for _ in 1..<lines.count { #expect(try await alice.nextLine().contains(#""code":"session_revoked""#)) }
            try await alice.expectEnd()
            #expect(
                try await node.database.value("select bio from public.user_profiles where username = 'alice'")
                    != "too late")
        }
    }

    @Test("allows only the same user to sign in again")
    func again() async throws {
        try await withNode(NodeSettings(endedSessionGrace: .seconds(3_600))) { node in
            let alice = try await node.signedIn(.alice)
            try await alice.call("auth.logout")
            try await alice.refused(
                .invalidRequest, "auth.login",
                ["email": .string(Person.bob.email), "password": .string(TestNode.password)])
            try await alice.signIn(.alice)
            #expect(try await alice.call("me.get")["username"] == "alice")
        }
    }

    @Test("a password change ends every other session")
    func changePassword() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.signedIn(.alice)
            let others = [try await one.signedIn(.alice), try await other.signedIn(.alice)]
            #expect(
                try await alice.call(
                    "auth.change_password",
                    ["current_password": .string(TestNode.password), "new_password": "another password"])
                    == ["revoked": 2])
            for client in others { try await client.expectEnd() }
            try await alice.call("me.get")
            let client = try await other.connect()
            try await client.refused(
                .invalidCredentials, "auth.login",
                ["email": .string(Person.alice.email), "password": .string(TestNode.password)])
            try await client.logIn(Person.alice.email, password: "another password")
        }
    }

    @Test("rejects a wrong current or invalid new password")
    func wrongPassword() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.signedIn(.alice)
            let elsewhere = try await other.signedIn(.alice)
            let current = JSON.string(TestNode.password)
            try await alice.refused(
                .invalidCredentials, "auth.change_password",
                ["current_password": "not this", "new_password": "another password"])
            for bad: JSON in ["1234567", .string(String(repeating: "x", count: 73)), 5, .null] {
                try await alice.refused(
                    .invalidParams, "auth.change_password", ["current_password": current, "new_password": bad],
                    field: "new_password")
            }
            try await alice.refused(
                .invalidParams, "auth.change_password", ["new_password": "another password"], field: "current_password")
            try await one.guest().refused(
                .invalidParams, "auth.change_password",
                ["current_password": current, "new_password": "another password"], field: "current_password")
            for client in [alice, elsewhere] { try await client.call("me.get") }
            try await one.connect().signIn(.alice)
        }
    }

    @Test("performs one of two concurrent password changes")
    func racedPasswords() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.connect()
            let tokens = try await alice.logIn(Person.alice.email)
            let sameSession = try await other.signedIn(with: tokens)
            let clients = [alice, sameSession]
            let outcomes = try await concurrentOutcomes(clients.indices) { index in
                try await clients[index].call(
                    "auth.change_password",
                    ["current_password": .string(TestNode.password), "new_password": "password \(index)"])
            }
            #expect(outcomes == ["done", "invalid_credentials"])
        }
    }

    @Test("rejects a sign-in verified before a password change")
    func overtaken() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let late = try await node.connect()
            let guest = try await node.connect().becomeGuest()
            for (what, params) in [
                ("open_session", []),
                ("merge_guest", [JSONObject.Member(name: "guest_refresh_token", value: guest["refresh_token"] ?? "")]),
            ] {
                // A lock on the account's row lets the sign-in verify the password and then wait.
                let holder = try await node.database.connect()
                _ = try await holder.execute(
                    "begin; select from auth.users where id = '\(Person.alice.id)' for update")
                let login = JSONObject(
                    [
                        .init(name: "email", value: .string(Person.alice.email)),
                        .init(name: "password", value: .string(TestNode.password)),
                    ] + params)
                async let refused: RemoteError? = late.refused(.invalidCredentials, "auth.login", login)
                try await node.database.wait(for: TestDatabase.lockWaiters(what), toBe: "1")
                _ = try await holder.execute(
                    """
                    update auth.users set encrypted_password = encrypted_password || '!' where id = '\(Person.alice.id)';
                    commit
                    """)
                await holder.close()
                #expect(try await refused?.message == "The email address or the password is wrong.")
                try await node.database.psql(
                    "update auth.users set encrypted_password = rtrim(encrypted_password, '!') where id = '\(Person.alice.id)'"
                )
            }
            #expect(
                try await node.database.column(
                    "select count(*) from app.sessions where user_id = '\(Person.alice.id)' and revoked_at is null")
                    == ["1"])
            #expect(try await node.database.value("select count(*) from app.merged_guests") == "0")
            try await alice.call("me.get")
        }
    }

    @Test("no sign-in with the old password survives a change")
    func around() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.signedIn(.alice)
            for round in 0..<3 {
                let current = round == 0 ? TestNode.password : "password \(round)"
                async let outcomes = concurrentOutcomes(0..<24) { number in
                    let client = try await (number.isMultiple(of: 2) ? one : other).connect()
                    try await client.call(
                        "auth.login", ["email": .string(Person.alice.email), "password": .string(current)])
                }
                try await alice.call(
                    "auth.change_password",
                    ["current_password": .string(current), "new_password": .string("password \(round + 1)")])
                #expect(Set(try await outcomes).isSubset(of: ["done", "invalid_credentials", "session_revoked"]))
                #expect(
                    try await one.database.value(
                        "select count(*) from app.sessions where user_id = '\(Person.alice.id)' and revoked_at is null")
                        == "1")
            }
        }
    }

    @Test(
        "a ban or deletion by SQL ends sessions on every node",
        arguments: ["banned_until = now() + interval '1 hour'", "deleted_at = now()"])
    func bySQL(change: String) async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.connect()
            let tokens = try await alice.logIn(Person.alice.email)
            let elsewhere = [try await other.signedIn(.alice), try await other.signedIn(with: tokens)]
            try await elsewhere[0].sync()
            let bob = try await other.signedIn(.bob)
            try await one.database.psql("update auth.users set \(change) where id = '\(Person.alice.id)'")
            for client in [alice] + elsewhere { try await client.expectEnd() }
            let client = try await other.connect()
            try await client.refused(
                .sessionRevoked, "session.authenticate", ["access_token": tokens["access_token"] ?? ""])
            try await client.refused(.sessionRevoked, "auth.refresh", ["refresh_token": tokens["refresh_token"] ?? ""])
            try await client.refused(
                change.hasPrefix("banned") ? .accountSuspended : .invalidCredentials, "auth.login",
                ["email": .string(Person.alice.email), "password": .string(TestNode.password)])
            try await bob.call("me.get")
            // The ended sessions stay ended. She may sign in again.
            try await one.database.psql(
                "update auth.users set banned_until = null, deleted_at = null where id = '\(Person.alice.id)'")
            try await client.refused(.sessionRevoked, "auth.refresh", ["refresh_token": tokens["refresh_token"] ?? ""])
            try await client.signIn(.alice)
        }
    }

    @Test("a session that begins and ends while its node starts is ended")
    func whileStarting() async throws {
        try await TestDatabase.with { database in
            try await database.withConnection { holder in
                _ = try await holder.execute("begin; lock table app.sessions in access exclusive mode")
                var settings = NodeSettings(poolSize: 6)
                settings.limits = StatementLimits(statement: .seconds(3_600), lock: .seconds(3_600))
                try await withNode(database, settings) { node in
                    let alice = try await node.connect()
                    async let tokens = alice.logIn(Person.alice.email)
                    // The sign-in waits until the polls for ended sessions begin.
                    try await database.wait(
                        for: TestDatabase.lockWaiters("ended_sessions|open_session"), toBe: "2")
                    // A process that waits for longer than deadlock_timeout is for a moment not shown as waiting.
                    #expect(try await database.value(TestDatabase.lockWaiters("open_session")) == "0")
                    _ = try await holder.execute("commit")
                    _ = try await tokens
                    try await database.psql(
                        "update auth.users set deleted_at = now() where id = '\(Person.alice.id)'")
                    try await alice.expectEnd()
                }
            }
        }
    }

    @Test("ends the least recently used of more than 100 sessions")
    func most() async throws {
        try await withNode { node in
            let first = try await node.signedIn(.alice)
            let second = try await node.signedIn(.alice)
            try await node.database.psql(
                """
                insert into app.sessions (user_id, refreshed_at)
                select '\(Person.alice.id)', now() + interval '1 minute' from generate_series(1, 98)
                """)
            try await first.call("me.get")
            try await node.signedIn(.alice).call("me.get")
            try await first.expectEnd()
            try await second.call("me.get")
            #expect(
                try await node.database.value("select count(*) from app.sessions where revoked_at is null") == "100")
        }
    }
}
