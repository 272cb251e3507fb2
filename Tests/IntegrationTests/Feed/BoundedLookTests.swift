import LineClient
import Messaging
import Testing

@Suite("Change batches beyond their limit", .timeLimit(.minutes(60)))
struct BoundedLookTests {
    @Test("a bulk change reaches everybody who may see it, delays nobody else, and every node stays ready")
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
                let replica = await client.replica
                #expect(replica.me?["attributes"] == ["tier": "gold"])
                #expect(replica.profiles.values.allSatisfy { $0["attributes"] == ["tier": "gold"] })
                #expect(replica.profiles.count > 1)
            }
            // Whom it does not concern is told what does as ever, and nothing else.
            try await sam.send("meanwhile", to: room)
            for client in [sam, kim] {
                #expect(try await client.nextChanges()["messages"]?[0]?["content"] == "meanwhile")
            }
            // Who is behind no more is live again.
            try await bob.send("after", to: Room.aliceBob)
            try await alice.follow { $0.has("after", in: Room.aliceBob) }
            for node in [one, other] { #expect(await node.isReady) }
        }
    }

    @Test("a look that fails again and again is given up: sessions are told to ask, and what comes after it is told")
    func failing() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            try await alice.sync()
            let look = try #require(
                try await node.database.value("select pg_get_functiondef('feed.read_changes'::regproc)"))
            try await node.database.replaceLook(by: "raise exception 'too much'")
            try await bob.send("while it fails", to: Room.aliceBob)
            let cursor = try await alice.lagged()
            try await node.database.psql(look)
            try await alice.sync(from: cursor)
            #expect(await alice.replica.has("while it fails", in: Room.aliceBob))
            try await bob.send("when it works", to: Room.aliceBob)
            // What came just before it worked, as who is online, is given up too.
            try await alice.followThroughLags { $0.has("when it works", in: Room.aliceBob) }
        }
    }

    @Test("a look that loses its connection again and again, as in restarts, is made up for: nobody is told to ask")
    func losing() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            try await alice.sync()
            let look = try #require(
                try await node.database.value("select pg_get_functiondef('feed.read_changes'::regproc)"))
            try await node.database.psql(
                look.replacing("feed.read_changes", with: "feed.whole_look") + """
                    ; grant execute on function feed.whole_look to public;
                    create sequence public.looks;
                    create function public.end_some() returns void language plpgsql security definer as $$ begin
                        if nextval('public.looks') <= 4 then perform pg_terminate_backend(pg_backend_pid()); end if;
                    end $$
                    """)
            try await node.database.replaceLook(
                by: "perform public.end_some(); return query select * from feed.whole_look(since)")
            try await bob.send("while it ends", to: Room.aliceBob)
            try await alice.follow { $0.has("while it ends", in: Room.aliceBob) }
            #expect(Int(try await node.database.value("select last_value from public.looks") ?? "") ?? 0 > 4)
        }
    }
}

extension TestDatabase {
    /// Lets every look do that alone.
    func replaceLook(by statement: String) async throws {
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
    /// Reads pushes up to `sync.lagged`, and gives its cursor.
    fileprivate func lagged() async throws -> String {
        while true {
            let push = try await nextNotification()
            if push.method == "changes" { take(.object(try push.params())) }
            if push.method == "sync.lagged" { return try push.params()["cursor"]?.stringValue ?? "" }
        }
    }

    /// Reads pushes until what this client holds is as the condition says, and asks at each `sync.lagged`.
    fileprivate func followThroughLags(until isReached: @Sendable (Replica) -> Bool) async throws {
        while !isReached(replica) {
            let push = try await nextNotification()
            if push.method == "changes" { take(.object(try push.params())) }
            if push.method == "sync.lagged" { try await sync(from: push.params()["cursor"]?.stringValue ?? "") }
        }
    }
}
