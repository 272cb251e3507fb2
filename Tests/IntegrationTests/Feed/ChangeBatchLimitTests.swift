import LineClient
import Testing
@testable import WireProtocol

@Suite("Change batches beyond their limit", .timeLimit(.minutes(20)))
struct ChangeBatchLimitTests {
    @Test("a bulk change reaches all affected users, and delays no others")
    func bulk() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.signedIn(.alice)
            let bob = try await other.signedIn(.bob)
            let (sam, kim) = (try await one.stranger("Sam Stranger"), try await other.stranger("Kim Stranger"))
            let (samID, kimID) = (await sam.userID, await kim.userID)
            let room = try await sam.conversation(with: kimID)
            try await one.database.psql(
                "insert into auth.users (id, is_anonymous) select gen_random_uuid(), true from generate_series(1, 3000)"
            )
            for client in [alice, bob, sam, kim] { try await client.sync() }

            try await one.database.psql(
                """
                update public.user_profiles set attributes = '{"tier":"gold"}' where id not in ('\(samID)', '\(kimID)')
                """)
            for client in [alice, bob] {
                let cursor = try await client.lagged()
                try await client.sync(from: cursor)
                let state = await client.state
                #expect(state.me?["attributes"] == ["tier": "gold"])
                #expect(state.profiles.values.allSatisfy { $0["attributes"] == ["tier": "gold"] })
                #expect(state.profiles.count > 1)
            }
            // Unaffected users receive their changes as usual, and nothing else.
            try await sam.send("meanwhile", to: room)
            for client in [sam, kim] {
                #expect(try await client.nextChanges()["messages"]?[0]?["content"] == "meanwhile")
            }
            // A client that has caught up is live again.
            try await bob.send("after", to: Room.aliceBob)
            try await alice.follow { $0.has("after", in: Room.aliceBob) }
            for node in [one, other] { #expect(await node.isReady) }
        }
    }

    @Test("a poll that keeps failing sends sync.lagged, and recovers")
    func failing() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            try await alice.sync()
            let definition = try #require(
                try await node.database.value("select pg_get_functiondef('feed.read_changes'::regproc)"))
            try await node.database.replacePoll(by: "raise exception 'too much'")
            try await bob.send("while it fails", to: Room.aliceBob)
            let cursor = try await alice.lagged()
            try await node.database.psql(definition)
            try await alice.sync(from: cursor)
            #expect(await alice.state.has("while it fails", in: Room.aliceBob))
            try await bob.send("when it works", to: Room.aliceBob)
            // Changes just before it worked, such as presence, are abandoned too.
            try await alice.followThroughLags { $0.has("when it works", in: Room.aliceBob) }
        }
    }

    @Test("a poll that keeps losing its connection recovers without a resync")
    func losing() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            try await alice.sync()
            let definition = try #require(
                try await node.database.value("select pg_get_functiondef('feed.read_changes'::regproc)"))
            try await node.database.psql(
                definition.replacing("feed.read_changes", with: "feed.whole_look") + """
                    ; grant execute on function feed.whole_look to public;
                    create sequence public.looks;
                    create function public.end_some() returns void language plpgsql security definer as $$ begin
                        if nextval('public.looks') <= 4 then perform pg_terminate_backend(pg_backend_pid()); end if;
                    end $$
                    """)
            try await node.database.replacePoll(
                by: "perform public.end_some(); return query select * from feed.whole_look(since)")
            try await bob.send("while it ends", to: Room.aliceBob)
            try await alice.follow { $0.has("while it ends", in: Room.aliceBob) }
            #expect(Int(try await node.database.value("select last_value from public.looks") ?? "") ?? 0 > 4)
        }
    }
}

extension TestDatabase {
    /// Replaces the body of the poll function.
    func replacePoll(by statement: String) async throws {
        try await psql(
            """
            create or replace function feed.read_changes(since pg_snapshot) returns table (
                kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text,
                tail text, marks bigint[])
            language plpgsql as $$ begin \(statement); end $$
            """)
    }
}

extension TestClient {
    /// Reads pushes up to `sync.lagged`, and returns its cursor.
    fileprivate func lagged() async throws -> String {
        while true {
            let push = try await nextNotification()
            if push.method == "changes" { take(.object(try push.params())) }
            if push.method == "sync.lagged" { return try push.params()["cursor"]?.stringValue ?? "" }
        }
    }

    /// Reads pushes until the state fulfils a condition, and syncs after each `sync.lagged`.
    fileprivate func followThroughLags(until isReached: @Sendable (SyncedState) -> Bool) async throws {
        while !isReached(state) {
            let push = try await nextNotification()
            if push.method == "changes" { take(.object(try push.params())) }
            if push.method == "sync.lagged" { try await sync(from: push.params()["cursor"]?.stringValue ?? "") }
        }
    }
}
