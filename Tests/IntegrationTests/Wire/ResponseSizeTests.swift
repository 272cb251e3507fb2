import LineClient
import Testing
import WireProtocol

@Suite("Response size", .timeLimit(.minutes(20)))
struct ResponseSizeTests {
    private static let most = 4 << 20

    /// Returns a response and the length of its line. The id is as long as a line allows.
    private func answer(
        _ client: TestClient, _ method: String, _ params: JSONObject
    ) async throws -> (result: JSON, bytes: Int) {
        let id = String(repeating: "i", count: 65_000)
        let line = try await client.exchange(
            #"{"jsonrpc":"2.0","id":"\#(id)","method":"\#(method)","params":\#(JSON.object(params).text)}"#)
        let answer = try JSON(parsing: line)
        return (try #require(answer["result"], "\(answer["error"]?.text ?? "")"), line.utf8.count)
    }

    @Test("row 58a: ends pages of long messages early, without a gap")
    func messages() async throws {
        try await withNode { node in
            // 200 messages of 8,000 characters, each six bytes in JSON.
            try await node.database.psql(
                """
                insert into public.messages (conversation_id, sender_id, content)
                select '\(Room.aliceBob)', '\(Person.alice.id)', repeat(chr(1), 8000) from generate_series(1, 200)
                """)
            let alice = try await node.signedIn(.alice)
            let all = Array(1...290)
            for forward in [true, false] {
                var seen: [Int] = []
                var calls = 0
                while seen.count < all.count {
                    var params: [JSONObject.Member] = [
                        .init(name: "conversation_id", value: .string(Room.aliceBob)), .init(name: "limit", value: 200),
                    ]
                    if forward { params.append(.init(name: "after_seq", value: .integer(seen.last ?? 0))) }
                    if !forward, let first = seen.first {
                        params.append(.init(name: "before_seq", value: .integer(first)))
                    }
                    let (page, bytes) = try await answer(alice, "messages.list", JSONObject(params))
                    #expect(bytes <= 700_000)
                    let seqs = page["messages"]?.arrayValue?.compactMap { $0["seq"]?.integerValue } ?? []
                    try #require(!seqs.isEmpty)
                    seen = forward ? seen + seqs : seqs + seen
                    calls += 1
                }
                #expect(seen == all)
                #expect(calls > 15 && calls < 30)
            }
            for page in try await alice.sync(messages: 100, live: false) {
                #expect(page.text.utf8.count < 700_000)
            }
        }
    }

    @Test("row 58a: ends pages of large groups early, with their profiles")
    func conversations() async throws {
        try await withNode { node in
            let groups = 8
            let people = 120
            try await node.database.psql(
                """
                insert into auth.users (id)
                select ('00000000-0000-4000-9000-' || lpad(n::text, 12, '0'))::uuid
                  from generate_series(1, \(groups * people)) n;
                update public.user_profiles
                   set website = 'https://a.example/' || repeat('😀', 500), avatar_type = 'custom',
                       avatar_url = 'https://a.example/' || repeat('😀', 500), bio = repeat('😀', 500),
                       attributes = jsonb_build_object('a', repeat('x', 8000))
                 where id::text like '00000000-0000-4000-9000-%';
                insert into public.conversations (kind, title, created_at)
                select 'group', 'Long ' || g, now() + g * interval '1 hour' from generate_series(1, \(groups)) g;
                insert into public.conversation_members (conversation_id, user_id)
                select c.id, u.id from public.conversations c,
                       generate_series(1, \(groups)) g,
                       lateral (select '\(Person.frank.id)'::uuid as id union all
                                select ('00000000-0000-4000-9000-' || lpad(n::text, 12, '0'))::uuid
                                  from generate_series((g - 1) * \(people) + 1, g * \(people)) n) u
                 where c.title = 'Long ' || g
                """)
            let frank = try await node.signedIn(.frank)
            var titles: [String] = []
            var next: JSON?
            var longest = 0
            repeat {
                let before = next.map { [JSONObject.Member(name: "before", value: $0)] } ?? []
                let (page, bytes) = try await answer(
                    frank, "conversations.list", JSONObject([.init(name: "limit", value: 100)] + before))
                longest = max(longest, bytes)
                let conversations = page["conversations"]?.arrayValue ?? []
                try #require(!conversations.isEmpty)
                titles += conversations.compactMap { $0["title"]?.stringValue }
                let members = conversations.flatMap { $0["members"]?.arrayValue ?? [] }.map { $0["user_id"] }
                let profiles = (page["profiles"]?.arrayValue ?? []).map { $0["id"] }
                #expect(Set(profiles.compactMap { $0?.stringValue }) == Set(members.compactMap { $0?.stringValue }))
                next = page["next"].flatMap { $0.stringValue }.map { .string($0) }
            } while next != nil
            #expect(titles.filter { $0.hasPrefix("Long") } == (1...groups).reversed().map { "Long \($0)" })
            #expect(longest <= Self.most && longest > 1 << 20)
        }
    }

    @Test("limits the profiles of a large group, not its members")
    func profilesOfMembers() async throws {
        try await withNode { node in
            try await node.database.psql(
                """
                insert into auth.users (id)
                select ('00000000-0000-4000-9000-' || lpad(n::text, 12, '0'))::uuid from generate_series(1, 252) n;
                update public.user_profiles set attributes = jsonb_build_object('a', repeat('x', 32000))
                 where id::text like '00000000-0000-4000-9000-%';
                insert into public.conversation_members (conversation_id, user_id)
                select '\(Room.alps)', id from public.user_profiles where id::text like '00000000-0000-4000-9000-%'
                """)
            let alice = try await node.signedIn(.alice)
            for method in ["conversations.get", "conversations.update"] {
                var params: JSONObject = ["conversation_id": .string(Room.alps), "profiles": true]
                if method == "conversations.update" {
                    params = JSONObject(params.members + [.init(name: "title", value: "Many")])
                }
                let (group, bytes) = try await answer(alice, method, params)
                #expect(group["members"]?.arrayValue?.count == 256)
                #expect(bytes <= Self.most && bytes > Self.most / 2)
                let profiles = group["profiles"]?.arrayValue ?? []
                for profile in profiles { expectProfile(profile) }
                #expect(profiles.count > 100 && profiles.count < 256)
            }
        }
    }
}
