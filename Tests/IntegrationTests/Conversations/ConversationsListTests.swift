import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("conversations.get and conversations.list", .timeLimit(.minutes(20)))
struct ConversationsListTests {
    @Test("returns a complete conversation from the member's view")
    func get() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let group = try await alice.call("conversations.get", ["conversation_id": .string(Room.alps)])
            expectConversation(group)
            #expect(group["kind"] == "group")
            #expect(group["title"] == "Weekend in the Alps")
            #expect(group["participant1_id"] == .null)
            #expect(group["participant2_id"] == .null)
            let roles = (group["members"]?.arrayValue ?? []).map { [$0["user_id"], $0["role"]] }
            #expect(roles.count == 4)
            #expect(roles.contains([.string(Person.alice.id), "owner"]))
            #expect(roles.contains([.string(Person.bob.id), "admin"]))
            #expect(roles.contains([.string(Person.dave.id), "member"]))
            try await alice.refused(.invalidParams, "conversations.get", field: "conversation_id")
            try await alice.refused(
                .invalidParams, "conversations.get", ["conversation_id": "x"], field: "conversation_id")
            try await alice.refused(.notFound, "conversations.get", ["conversation_id": .string(nobody)])
        }
    }

    @Test("includes the first 200 characters of the last message", .covers("A22"))
    func lastMessage() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let long = String(repeating: "é😀", count: 150)
            let message = try await alice.send(long, to: Room.aliceBob)
            let conversation = try await alice.call("conversations.get", ["conversation_id": .string(Room.aliceBob)])
            #expect(conversation["last_message_content"]?.stringValue == String(repeating: "é😀", count: 100))
            #expect(conversation["last_message_time"] == message["created_at"])
            #expect(conversation["last_message_sender_id"]?.stringValue == Person.alice.id)
            #expect(conversation["last_seq"] == message["seq"])
            #expect(conversation["unread_count"] == 0)
        }
    }

    @Test("lists the newest message first, with all members' profiles", .covers("A1", "A17", "C16"))
    func list() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            try await alice.send("now first", to: Room.aliceErin)
            let answer = try await alice.call("conversations.list")
            expectShape(answer, ["conversations", "profiles", "next"])
            let conversations = answer["conversations"]?.arrayValue ?? []
            for conversation in conversations { expectConversation(conversation) }
            #expect(conversations.count == 5)
            #expect(conversations.first?["id"]?.stringValue == Room.aliceErin)
            let times = conversations.compactMap { $0["last_message_time"]?.stringValue }
            #expect(times == times.sorted(by: >))
            let profiles = answer["profiles"]?.arrayValue ?? []
            for profile in profiles { expectProfile(profile) }
            #expect(Set(profiles.compactMap { $0["username"]?.stringValue }) == Set(Person.allCases.map(\.rawValue)))
            #expect(answer["next"] == .null)
        }
    }

    @Test("pages through all conversations once, also with equal times")
    func paging() async throws {
        try await withNode { node in
            // A hundred conversations of Alice, twenty for each time.
            try await node.database.psql(
                """
                insert into auth.users (id, raw_user_meta_data)
                select ('00000000-0000-4000-9000-' || lpad(n::text, 12, '0'))::uuid, '{"full_name":"N"}' from generate_series(1, 100) n;
                insert into public.conversations (kind, participant1_id, participant2_id, created_at)
                select 'direct', '\(Person.alice.id)', ('00000000-0000-4000-9000-' || lpad(n::text, 12, '0'))::uuid,
                       now() - interval '1 year' + (n % 5) * interval '1 hour' from generate_series(1, 100) n;
                """)
            let alice = try await node.signedIn(.alice)
            for limit in [1, 7, 35, 100] {
                var seen: [String] = []
                var next: JSON?
                repeat {
                    let before = next.map { [JSONObject.Member(name: "before", value: $0)] } ?? []
                    let answer = try await alice.call(
                        "conversations.list", JSONObject([.init(name: "limit", value: .integer(limit))] + before))
                    let ids = answer["conversations"]?.arrayValue?.compactMap { $0["id"]?.stringValue } ?? []
                    #expect(ids.count <= limit && !ids.isEmpty)
                    seen += ids
                    next = answer["next"]?.stringValue.map { .string($0) }
                } while next != nil
                #expect(seen.count == 105)
                #expect(Set(seen).count == 105)
            }
        }
    }

    @Test("returns an empty list without conversations")
    func empty() async throws {
        try await withNode { node in
            let stranger = try await node.stranger()
            #expect(
                try await stranger.call("conversations.list") == ["conversations": [], "profiles": [], "next": .null])
        }
    }

    @Test(
        "lists 50 conversations with the queries of one",
        .covers("A17")
    )
    func noFurtherQueries() async throws {
        try await TestDatabase.with { database in
            let (one, many) = ("00000000-0000-4000-9000-000000000000", "00000000-0000-4000-9000-000000000100")
            try await database.psql(
                """
                insert into auth.users (id, raw_user_meta_data)
                select ('00000000-0000-4000-9000-' || lpad(n::text, 12, '0'))::uuid, '{"full_name":"N"}'
                  from generate_series(0, 100) n;
                insert into public.conversations (kind, participant1_id, participant2_id)
                select 'direct', '\(many)', ('00000000-0000-4000-9000-' || lpad(n::text, 12, '0'))::uuid
                  from generate_series(1, 50) n;
                insert into public.conversations (kind, participant1_id, participant2_id)
                values ('direct', '\(one)', '00000000-0000-4000-9000-000000000001');
                analyze
                """)
            let list = "select json_array_length(api.conversations(100) -> 'conversations')"
            let ofOne = try await database.cost(of: list, as: one)
            let ofFifty = try await database.cost(of: list, as: many)
            #expect(ofOne.value == "1" && ofFifty.value == "50")
            #expect(ofOne.calls["api.conversations"] == 1)
            #expect(ofFifty.calls == ofOne.calls)
            #expect(
                ofFifty.scans.keys.sorted() == [
                    "conversation_members", "conversation_mutes", "conversations", "delivered_marks",
                    "message_mentions", "user_profiles",
                ])
            #expect(ofFifty.scans["user_profiles"] == ofOne.scans["user_profiles"])
            for (table, scans) in ofFifty.scans {
                #expect(scans <= (ofOne.scans[table] ?? 0) + 49, "\(table): \(ofOne.scans), \(ofFifty.scans)")
            }
        }
    }

    @Test("conversations.list validates limit and before")
    func params() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            for limit: JSON in [0, 101, -5, "10", true, [1]] {
                try await alice.refused(.invalidParams, "conversations.list", ["limit": limit], field: "limit")
            }
            for before: JSON in ["", "x", 5, "1.2", "99999999999999999999.\(Room.alps)", "0.\(nobody)'"] {
                try await alice.refused(.invalidParams, "conversations.list", ["before": before], field: "before")
            }
            try await alice.refused(.invalidParams, "conversations.list", ["after": "x"], field: "after")
        }
    }
}
