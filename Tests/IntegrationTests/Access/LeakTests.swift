import FuzzedLines
import TestSupport
import Testing

@Suite("No client receives another user's data", .timeLimit(.minutes(20)))
struct LeakTests {
    @Test(
        "row 41: clients receive only what row-level security permits, and can export all of it",
        .covers("A13", "A14", "A25", "F2"),
        arguments: 0..<8)
    func randomScenarios(_ number: Int) async throws {
        let seed = testSeed() &+ UInt64(number)
        try await withTwoNodes { one, other in
            var scenario = try await LeakScenario(one, other, seed: seed)
            try await scenario.run(steps: 160)
            let differences = scenario.leaks.isEmpty ? try await scenario.checkExports() : []
            await scenario.close()
            #expect(
                differences.isEmpty,
                "POSTLINE_TEST_SEED=\(seed), the exports: \(differences.prefix(20).map(\.description))")
            #expect(
                scenario.leaks.isEmpty,
                "POSTLINE_TEST_SEED=\(seed), the first scenario: \(scenario.leaks.map(\.description))")
            #expect(scenario.probes >= 125, "POSTLINE_TEST_SEED=\(seed)")
            print(
                "leaks: scenario \(number), POSTLINE_TEST_SEED=\(seed): \(scenario.probes) probes, \(scenario.done) answered with a result, \(scenario.marksChecked) marks checked"
            )
        }
    }

    /// Possible mistakes in the SQL. The scenario must detect each.
    static let mistakes: [(String, String)] = [
        (
            "a policy that shows the messages of all",
            "alter policy member_select on public.messages using (true)"
        ),
        (
            "a policy that shows the scheduled messages of all",
            "alter policy own_select on public.scheduled_messages using (true)"
        ),
        (
            "methods of moderators that everyone may call",
            """
            create or replace function app.moderator() returns uuid
            language sql stable set search_path = pg_catalog, pg_temp as 'select auth.uid()'
            """
        ),
        (
            "a view that runs with its owner's rights",
            "alter view rest.messages set (security_invoker = false)"
        ),
        (
            "a method that runs with its owner's rights and asks for no membership",
            """
            alter function api.messages(uuid, bigint, bigint, integer) security definer;
            do $$ begin execute replace(
                pg_get_functiondef('app.message_page(uuid, bigint, bigint, integer)'::regprocedure),
                'having pg_catalog.bool_or(r.user_id = me and not r.is_deleted)', ''); end $$
            """
        ),
        (
            "a feed that treats every user as a member",
            """
            do $do$ begin
                execute replace(pg_get_functiondef('feed.read_changes(pg_snapshot)'::regprocedure),
                                'FUNCTION feed.read_changes(', 'FUNCTION feed.sound_look(');
            end $do$;
            grant execute on function feed.sound_look(pg_snapshot) to postline_feed;
            create or replace function feed.read_changes(since pg_snapshot) returns table (
                kind text, xid text, conversation_id uuid, user_id uuid, seq bigint, audience uuid[], object text,
                tail text, marks bigint[]) language sql stable as $$
                select 'joined', l.xid, l.conversation_id, p.id, null, null, null, null, null
                  from feed.sound_look(since) l, public.user_profiles p where l.kind = 'message'
                union all select * from feed.sound_look(since) $$;
            revoke execute on function feed.read_changes(pg_snapshot) from public;
            grant execute on function feed.read_changes(pg_snapshot) to postline_feed
            """
        ),
    ]

    @Test("row 41: detects a leak in a policy, a method or the feed", arguments: LeakTests.mistakes)
    func found(_ name: String, _ sql: String) async throws {
        let seed = testSeed()
        try await TestDatabase.with { database in
            try await database.psql(sql)
            try await withNode(database) { one in
                try await withNode(database) { other in
                    var scenario = try await LeakScenario(one, other, seed: seed)
                    try await scenario.run(steps: 300)
                    await scenario.close()
                    #expect(!scenario.leaks.isEmpty, "POSTLINE_TEST_SEED=\(seed): \(name)")
                    print("leaks: \(name): \(scenario.leaks.first?.description.prefix(300) ?? "nothing")")
                }
            }
        }
    }
}
