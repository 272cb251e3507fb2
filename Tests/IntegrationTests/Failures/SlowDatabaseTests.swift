import BoundedWait
import DatabaseAccess
import LineClient
import Postgres
import TestSupport
import Testing
import WireProtocol

@Suite("Slow database", .timeLimit(.minutes(20)))
struct SlowDatabaseTests {
    @Test("row 25: a lock held elsewhere times out, and the connection stays")
    func lockTimeout() async throws {
        let limits = StatementLimits(statement: .seconds(10), lock: .milliseconds(200))
        try await withNode(NodeSettings(poolSize: 1, limits: limits)) { node in
            let alice = try await node.signedIn(.alice)
            let program = try await node.database.connect()
            _ = try await program.execute(
                "begin; select from public.conversations where id = '\(Room.aliceBob)' for update")
            let params: JSONObject = ["conversation_id": .string(Room.aliceBob), "content": "waits"]
            let error = try await alice.refused(.timeout, "messages.send", params)
            #expect(error?.isRetryable == true)
            #expect(try await alice.call("me.get")["username"] == "alice")
            try await alice.send("elsewhere", to: Room.aliceCarol)
            _ = try await program.execute("rollback")
            await program.close()
            #expect(try await alice.call("messages.send", params)["seq"] == 91)
        }
    }

    @Test("row 25: a slow statement times out and leaves nothing behind")
    func statementTimeout() async throws {
        let limits = StatementLimits(statement: .seconds(2), lock: .seconds(30))
        try await withNode(NodeSettings(poolSize: 1, limits: limits)) { node in
            let alice = try await node.signedIn(.alice)
            let program = try await node.database.connect()
            _ = try await program.execute(
                "begin; select from public.conversations where id = '\(Room.aliceBob)' for update")
            try await alice.refused(
                .timeout, "messages.send", ["conversation_id": .string(Room.aliceBob), "content": "waits"])
            _ = try await program.execute("rollback")
            await program.close()
            #expect(try await alice.send("now", to: Room.aliceBob)["seq"] == 91)
        }
    }

    @Test("row 25: ending idle connections repeatedly loses nothing")
    func idleConnectionsEnd() async throws {
        try await TestDatabase.with { database in
            try await withNode(database) { node in
                let alice = try await node.signedIn(.alice)
                let bob = try await node.signedIn(.bob)
                try await bob.sync()
                for round in 0..<5 {
                    let backends = try await database.column(Self.backends).compactMap { $0 }
                    try await database.psql(
                        """
                        select pg_terminate_backend(pid) from pg_stat_activity
                         where datname = current_database() and usename = 'postline'
                        """)
                    let ended = "\(Self.backends) and pid = any('{\(backends.joined(separator: ","))}') limit 1"
                    try await database.wait(for: ended, toBe: nil)
                    // A request sent at that moment may be unavailable, executed or not.
                    try await alice.sendWithRetry("\(round)", to: Room.aliceBob)
                }
                try await bob.follow { $0.has("4", in: Room.aliceBob) }
                #expect(await bob.state.contents(Room.aliceBob).suffix(5) == ["0", "1", "2", "3", "4"])
                #expect(await bob.state.arrivals[Room.aliceBob]?.suffix(5) == [91, 92, 93, 94, 95])
            }
        }
    }

    /// The service's connections: those for requests, and the feed's three.
    private static let backends =
        "select pid from pg_stat_activity where datname = current_database() and usename = 'postline'"

    @Test("row 22: retries serialization failures and deadlocks a few times")
    func retries() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            try await bob.sync()
            // A sequence counts attempts, since it does not roll back.
            try await node.database.psql(
                """
                create sequence public.attempts;
                create function public.fail() returns trigger language plpgsql security definer as $$
                declare attempt bigint := nextval('public.attempts');
                begin
                    if new.content = 'never' or attempt <= 2 then
                        raise exception using errcode = case when attempt % 2 = 0 then '40P01' else '40001' end, message = 'try again';
                    end if;
                    return new;
                end $$;
                create trigger fail before insert on public.messages for each row execute function public.fail();
                """)
            #expect(try await alice.send("at the third attempt", to: Room.aliceBob)["seq"] == 91)
            #expect(try await node.database.value("select last_value from public.attempts") == "3")
            let error = try await alice.refused(
                .unavailable, "messages.send", ["conversation_id": .string(Room.aliceBob), "content": "never"])
            #expect(error?.isRetryable == true)
            let attempts = Int(try await node.database.value("select last_value from public.attempts") ?? "") ?? 0
            #expect((4...20).contains(attempts))
            try await alice.send("after", to: Room.aliceBob)
            try await bob.follow { $0.has("after", in: Room.aliceBob) }
            #expect(await bob.state.arrivals[Room.aliceBob]?.suffix(2) == [91, 92])
        }
    }

    @Test("an SQL error is an internal_error with an incident only", .covers("A28", "D25"))
    func fault() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            try await node.database.psql(
                """
                create function public.fail() returns trigger language plpgsql as $$
                begin raise exception 'the secret reason' using detail = 'secret detail', hint = 'secret hint'; end $$;
                create trigger fail before insert on public.messages for each row execute function public.fail();
                """)
            let text = try await alice.answerText(
                "messages.send", ["conversation_id": .string(Room.aliceBob), "content": "x"])
            #expect(text.contains(#""code":"internal_error""#))
            #expect(text.contains(#""incident":""#))
            #expect(!text.contains("secret"))
            try await alice.call("me.get")
        }
    }

    @Test("HTTP maps an SQL error to 500, no token to 401, missing to 404", .covers("D25"))
    func faultOverHTTP() async throws {
        try await withNode { node in
            let token = try await node.accessToken(of: .alice)
            func answer(_ room: String, _ token: String?) async throws -> (status: Int, code: String?, body: String) {
                let answer = try await TestHTTPResponse.call(
                    "messages.send", #"{"conversation_id":"\#(room)","content":"x"}"#, token: token,
                    port: node.httpPort)
                let error = try JSON(parsing: answer.body)
                return (answer.status, error["data"]?["code"]?.stringValue, answer.body)
            }
            #expect(try await answer(Room.aliceBob, token).status == 200)
            let missing = try await answer(nobody, token)
            #expect(missing.status == 404 && missing.code == "not_found")
            try await node.database.psql(
                """
                create function public.fail() returns trigger language plpgsql as $$
                begin raise exception 'the secret reason' using detail = 'secret detail', hint = 'secret hint'; end $$;
                create trigger fail before insert on public.messages for each row execute function public.fail();
                """)
            let fault = try await answer(Room.aliceBob, token)
            #expect(fault.status == 500 && fault.code == "internal_error")
            #expect(fault.body.contains(#""incident":""#) && !fault.body.contains("secret"))
            let stranger = try await answer(Room.aliceBob, nil)
            #expect(stranger.status == 401 && stranger.code == "unauthenticated")
        }
    }

    @Test("row 21: foreign notifications on the channel are harmless")
    func foreignNotifications() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            try await alice.sync()
            for payload in [
                "", "x", "{}", nobody, "'; drop table messages; --", "💥\n\u{1}", String(repeating: "x", count: 7_900),
            ] {
                let connection = try await node.database.connect()
                for _ in 0..<20 {
                    _ = try await connection.run(
                        [Call(Statement("n", "select pg_notify('postline', $1)"), [payload])], deadline: watchdogLimit)
                }
                await connection.close()
            }
            #expect(try await alice.pushesUpTo("end", on: node.database) == [])
            try await node.signedIn(.bob).send("as ever", to: Room.aliceBob)
            try await alice.follow { $0.has("as ever", in: Room.aliceBob) }
        }
    }

    @Test("row 18: terminating the listener's backend misses no change", .covers("F3"))
    func listenerTerminated() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            try await alice.sync()
            for round in 0..<5 {
                // Each round ends an existing listener.
                try await node.database.wait(
                    for: "select count(*) \(TestDatabase.listeners) and state = 'idle'", toBe: "1")
                for number in 0..<20 {
                    try await node.database.psql(
                        "insert into public.messages (conversation_id, sender_id, content) values ('\(Room.aliceBob)', '\(Person.bob.id)', '\(round) \(number)')"
                    )
                    if number == 7 {
                        #expect(
                            try await node.database.value(
                                "select count(pg_terminate_backend(pid, 5000)) \(TestDatabase.listeners)") == "1")
                    }
                }
                try await alice.follow { $0.has("\(round) 19", in: Room.aliceBob) }
            }
            #expect(await alice.state.arrivals[Room.aliceBob]?.suffix(100) == ArraySlice(91...190))
        }
    }

    @Test(
        "recovers from repeated termination of all backends"
    )
    func allTerminated() async throws {
        try await withNode { node in
            let bob = try await node.signedIn(.bob)
            try await bob.sync()
            let alice = try await node.signedIn(.alice)
            var answered: [String] = []
            for number in 0..<40 {
                if number % 10 == 5 {
                    try await node.database.psql(
                        "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and usename = 'postline'"
                    )
                }
                let content = "\(number)"
                try await alice.sendWithRetry(content, to: Room.aliceBob)
                answered.append(content)
            }
            try await bob.follow { $0.has("39", in: Room.aliceBob) }
            #expect(await bob.state.contents(Room.aliceBob).suffix(40) == answered[...])
            #expect(await bob.state.arrivals[Room.aliceBob]?.suffix(40) == ArraySlice(91...130))
        }
    }
}
