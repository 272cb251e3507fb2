import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("profiles.search", .timeLimit(.minutes(20)))
struct ProfilesSearchTests {
    private func found(_ query: String, by client: TestClient, limit: Int? = nil) async throws -> [String] {
        let members =
            [JSONObject.Member(name: "query", value: .string(query))]
            + (limit.map { [.init(name: "limit", value: .integer($0))] } ?? [])
        let answer = try await client.call("profiles.search", JSONObject(members))
        expectShape(answer, ["profiles"])
        let profiles = answer["profiles"]?.arrayValue ?? []
        for profile in profiles { expectProfile(profile) }
        return profiles.map { $0["username"]?.stringValue ?? $0["full_name"]?.stringValue ?? "?" }
    }

    @Test("finds names despite typos, best match first", .covers("A5", "C25"))
    func finds() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            #expect(try await found("bob", by: alice).first == "bob")
            #expect(try await found("BO", by: alice).first == "bob")
            #expect(try await found("gallagher", by: alice).first == "erin")
            #expect(try await found("galager", by: alice).first == "erin")
            #expect(try await found("öztürk", by: alice).first == "frank")
            #expect(try await found("Nakamurra", by: alice).first == "dave")
            #expect(try await found("xyzzyq", by: alice) == [])
            let bob = try await alice.call("profiles.search", ["query": "bob"])["profiles"]?[0]
            #expect(bob?["avatar_type"] == "built_in" && bob?["avatar_id"] == "otter")
            let carol = try await alice.call("profiles.search", ["query": "carol"])["profiles"]?[0]
            #expect(carol?["avatar_url"] == "https://images.example.com/carol.jpg")
        }
    }

    @Test("never finds guests, deleted users or the caller")
    func hidden() async throws {
        try await withNode { node in
            try await node.database.psql(
                """
                insert into auth.users (id, is_anonymous, raw_user_meta_data) values (gen_random_uuid(), true, '{"full_name":"Bobby Guest"}');
                update public.user_profiles set is_deleted = true where username = 'carol';
                """)
            let alice = try await node.signedIn(.alice)
            #expect(try await !found("Bobby Guest", by: alice).contains("Bobby Guest"))
            #expect(try await !found("carol", by: alice).contains("carol"))
            #expect(try await !found("Carol Jensen", by: alice).contains { $0 == "carol" || $0 == "?" })
            #expect(try await found("alice", by: alice) == [])
            #expect(try await found("alice", by: node.signedIn(.bob)).first == "alice")
        }
    }

    @Test("row 36: %, _ and \\ are literal")
    func literal() async throws {
        try await withNode { node in
            let names = ["100% Sam", "under_score Sam", "back\\slash Sam"]
            for name in names { _ = try await node.stranger(name) }
            let alice = try await node.signedIn(.alice)
            for query in ["%%", "__", "\\\\", "%_", "_%", "%a%", "b_b", "%\\"] {
                #expect(try await found(query, by: alice) == [], "\(query)")
            }
            #expect(try await found("0%", by: alice) == [])
            #expect(try await found("100%", by: alice) == ["100% Sam"])
            #expect(try await found("r_s", by: alice) == ["under_score Sam"])
            #expect(try await found("k\\s", by: alice) == ["back\\slash Sam"])
        }
    }

    @Test("limits the results, by default to 20")
    func limits() async throws {
        try await withNode { node in
            try await node.database.psql(
                """
                insert into auth.users (id, raw_user_meta_data)
                select gen_random_uuid(), jsonb_build_object('full_name', 'Quentin ' || n) from generate_series(1, 60) n
                """)
            let alice = try await node.signedIn(.alice)
            #expect(try await found("quentin", by: alice).count == 20)
            #expect(try await found("quentin", by: alice, limit: 1).count == 1)
            #expect(try await found("quentin", by: alice, limit: 50).count == 50)
            for limit in [0, 51, -1] {
                try await alice.refused(
                    .invalidParams, "profiles.search", ["query": "ab", "limit": .integer(limit)], field: "limit")
            }
        }
    }

    @Test("requires a trimmed query of 2 to 50 characters")
    func params() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            for query: JSON in ["", "a", "  a  ", .string(String(repeating: "x", count: 51)), 12, .null] {
                try await alice.refused(.invalidParams, "profiles.search", ["query": query], field: "query")
            }
            try await alice.refused(.invalidParams, "profiles.search", field: "query")
            #expect(try await found(" bob ", by: alice).first == "bob")
            #expect(try await found("😀😀", by: alice) == [])
            #expect(try await found(String(repeating: "x", count: 50), by: alice) == [])
        }
    }
}
