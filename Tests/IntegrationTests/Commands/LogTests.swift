import Foundation
@testable import Postgres
import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("Log contents", .timeLimit(.minutes(20)))
struct LogTests {
    @Test("the log has no token, password or content, and one line an event", .covers("A28"))
    func secrets() async throws {
        try await TestDatabase.with { database in
            // An error of PostgreSQL that quotes an unreadable value, and a notice.
            try await database.psql(
                """
                create function public.fail() returns trigger language plpgsql as $$
                begin
                    raise notice 'about to fail';
                    perform new.content::integer;
                    return new;
                end $$;
                create trigger fail before insert on public.messages for each row
                    when (new.content like 'say-nothing-of-%') execute function public.fail();
                """)
            try await ServeProcess.with(database, ["--log-level", "trace"]) { node in
                let password = "say-nothing-of-my-password"
                let other = "say-nothing-of-my-new-password"
                let contents = ["nobody may read this in a log", "say-nothing-of-\"this\"-either"]
                var secrets = [
                    password, other, "say-nothing-of-this-name", "say-nothing-of-this-method", TestNode.secret,
                ]
                secrets += contents + ["say-nothing-of-", "-either"]

                let client = try await node.connect()
                let tokens = try await client.call(
                    "auth.register",
                    ["email": "quiet@example.com", "password": .string(password), "full_name": "Quiet"])
                let guest = try await node.connect().becomeGuest()
                let again = try await node.connect().logIn("quiet@example.com", password: password)
                let alice = try await node.signedIn(.alice)
                let refreshed = try await alice.call(
                    "auth.refresh", ["refresh_token": again["refresh_token"] ?? .null])
                for tokens in [tokens, guest, again, refreshed] {
                    for name in ["access_token", "refresh_token"] {
                        let token = try #require(tokens[name]?.stringValue)
                        secrets.append(token)
                        // The signature alone would suffice if the rest is known.
                        secrets.append(String(token.suffix(20)))
                    }
                }
                let guesser = try await node.connect()
                try await guesser.refused(
                    .invalidCredentials, "auth.login", ["email": "quiet@example.com", "password": .string(other)])
                try await guesser.refused(
                    .invalidToken, "session.authenticate", ["access_token": "say-nothing-of-this-name"])
                try await guesser.refused(.unknownMethod, "say-nothing-of-this-method")
                try await client.call(
                    "auth.change_password", ["current_password": .string(password), "new_password": .string(other)])
                try await alice.sync()
                try await alice.send(contents[0], to: Room.aliceBob)
                try await alice.call(
                    "messages.edit",
                    [
                        "conversation_id": .string(Room.aliceBob), "seq": 91, "content": .string(contents[0] + "!"),
                    ])
                let answer = try await alice.answerText(
                    "messages.send", ["conversation_id": .string(Room.aliceBob), "content": .string(contents[1])])
                let incident = try #require(
                    try JSON(parsing: Array(answer.utf8))["error"]?["data"]?["incident"]?.stringValue)
                try await alice.call("auth.logout")
                try await alice.line.send(line: "no JSON: \(password)")
                _ = try await alice.nextLine()
                node.command.signal(SIGTERM)
                #expect(try await node.command.exit() == 0)

                let log = node.command.errors
                for secret in secrets { #expect(!log.contains(secret), "\(secret)") }
                let event =
                    #/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z (trace|debug|info|notice|warning|error|critical) .+/#
                let lines = log.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
                #expect(lines.count > 20)
                for line in lines { #expect(line.wholeMatch(of: event) != nil, "\(line)") }
                let failures = lines.filter { $0.contains(" error ") }
                #expect(failures.count == 1, "\(failures)")
                let failure = try #require(failures.first)
                #expect(failure.contains(" incident=\(incident) "))
                #expect(failure.contains(" method=messages.send "))
                #expect(failure.contains("22P02: invalid input syntax for type integer"))
                // The same request elsewhere in the log.
                let request = try #require(failure.firstMatch(of: #/request=(c\d+\.\d+)/#)?.1)
                #expect(
                    lines.contains {
                        $0.contains(" debug request answered code=internal_error method=messages.send ms=")
                            && $0.hasSuffix(" request=\(request)")
                    })
                #expect(lines.contains { $0.contains("connection opened connection=c1 peer=127.0.0.1") })
            }
        }
    }

    @Test("pg_stat_activity shows the request of a waiting statement only")
    func activity() async throws {
        try await withNode(NodeSettings(poolSize: 1)) { node in
            let alice = try await node.signedIn(.alice)
            let program = try await node.database.connect()
            _ = try await program.execute(
                "begin; select from public.conversations where id = '\(Room.aliceBob)' for update")
            let waiting = """
                select application_name from pg_stat_activity
                where datname = current_database() and usename = 'postline' and wait_event_type = 'Lock'
                """
            async let sent = alice.send("waits", to: Room.aliceBob)
            // The second request of the first connection.
            try await node.database.wait(for: waiting, toBe: "postline c1.2 messages.send")
            _ = try await program.execute("rollback")
            await program.close()
            #expect(try await sent["seq"] == 91)
            let other = try await node.connect()
            try await other.call("avatars.list")
            let left = "select count(*)::text from pg_stat_activity where application_name like 'postline c%'"
            try await node.database.wait(for: left, toBe: "0")
        }
    }

    @Test("statements of accounts and the feed have application names")
    func names() async throws {
        try await withNode { node in
            try await node.database.psql(
                """
                create table public.seen (name text);
                grant insert on public.seen to public;
                create function public.note() returns trigger language plpgsql security definer as $$
                begin insert into public.seen values (current_setting('application_name')); return null; end $$;
                create trigger note after insert on auth.users for each statement execute function public.note();
                """)
            let client = try await node.connect()
            try await client.call("server.info")
            try await client.register("Nora")
            #expect(try await node.database.column("select name from public.seen") == ["postline c1.2 auth.register"])
        }
    }
}
