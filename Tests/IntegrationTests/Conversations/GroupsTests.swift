import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("Groups", .timeLimit(.minutes(20)))
struct GroupsTests {
    private func id(_ conversation: String, _ members: [JSONObject.Member] = []) -> JSONObject {
        JSONObject([.init(name: "conversation_id", value: .string(conversation))] + members)
    }

    private func id(_ conversation: String, user: Person) -> JSONObject {
        id(conversation, [.init(name: "user_id", value: .string(user.id))])
    }

    private func roles(_ conversation: JSON?) -> [String: String] {
        var roles: [String: String] = [:]
        for member in conversation?["members"]?.arrayValue ?? [] {
            roles[member["user_id"]?.stringValue ?? ""] = member["role"]?.stringValue
        }
        return roles
    }

    @Test("pushes a new group with profiles to all members", .covers("C21"))
    func create() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.signedIn(.alice)
            let frank = try await other.signedIn(.frank)
            try await frank.sync()
            // Members are a set: duplicates and the creator count once.
            let group = try await alice.call(
                "conversations.create_group",
                [
                    "title": " Boat trip ",
                    "member_ids": .array([Person.dave, .frank, .dave, .alice].map { .string($0.id) }),
                ])
            let room = try #require(group["id"]?.stringValue)
            #expect(group["title"] == "Boat trip" && group["kind"] == "group" && group["participant1_id"] == .null)
            #expect(
                roles(group) == [Person.alice.id: "owner", Person.dave.id: "member", Person.frank.id: "member"])
            try await frank.follow("the group") { $0.conversations[room] != nil && $0.profiles[Person.dave.id] != nil }
            let people = await frank.state.profiles
            #expect(people[Person.dave.id]?["avatar_id"] == "turtle" && people[Person.alice.id]?["avatar_id"] == "fox")
            try await frank.send("I bring the boat", to: room)
            #expect(try await alice.call("conversations.get", id(room))["last_message_content"] == "I bring the boat")
        }
    }

    @Test("rejects invalid groups")
    func refused() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let count = "select count(*) from public.conversations"
            let before = try await node.database.value(count)
            let bob = JSON.string(Person.bob.id)
            for (params, field) in [
                (["member_ids": [bob]], "title"), (["title": " ", "member_ids": [bob]], "title"),
                (["title": "x"], "member_ids"), (["title": "x", "member_ids": []], "member_ids"),
                (["title": "x", "member_ids": ["bob"]], "member_ids"),
                (["title": "x", "member_ids": [.string(Person.alice.id)]], "member_ids"),
                (["title": "x", "member_ids": .array(Array(repeating: bob, count: 256))], "member_ids"),
            ] as [(JSONObject, String)] {
                try await alice.refused(.invalidParams, "conversations.create_group", params, field: field)
            }
            try await alice.refused(
                .notFound, "conversations.create_group", ["title": "x", "member_ids": [bob, .string(nobody)]])
            #expect(try await node.database.value(count) == before)
        }
    }

    @Test("owner and admins change a group, members and others cannot")
    func rights() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            let carol = try await node.signedIn(.carol)
            let erin = try await node.signedIn(.erin)
            // Alice is the owner, Bob an admin, Carol and Dave are members, Erin is not a member.
            let title = JSONObject.Member(name: "title", value: "Higher Alps")
            let newcomer = JSONObject.Member(name: "user_ids", value: [.string(Person.frank.id)])
            let role = JSONObject.Member(name: "role", value: "admin")
            let acts: [(String, JSONObject)] = [
                ("conversations.update", id(Room.alps, [title])),
                ("conversations.add_members", id(Room.alps, [newcomer])),
                ("conversations.remove_member", id(Room.alps, user: .dave)),
                ("conversations.set_role", JSONObject(id(Room.alps, user: .dave).members + [role])),
            ]
            for (method, params) in acts {
                try await carol.refused(.forbidden, method, params)
                try await erin.refused(.notFound, method, params)
            }
            // Admins neither remove the owner nor set roles.
            try await bob.refused(.forbidden, "conversations.remove_member", id(Room.alps, user: .alice))
            try await bob.refused(.forbidden, acts[3].0, acts[3].1)
            #expect(try await bob.call(acts[0].0, acts[0].1)["title"] == "Higher Alps")
            #expect(roles(try await bob.call(acts[1].0, acts[1].1))[Person.frank.id] == "member")
            #expect(roles(try await bob.call(acts[2].0, acts[2].1))[Person.dave.id] == nil)
            // Adding a member again changes nothing.
            let version = try await alice.call("conversations.get", id(Room.alps))["version"]
            #expect(try await alice.call(acts[1].0, acts[1].1)["version"] == version)
            // A direct conversation cannot change.
            for (method, params) in [
                ("conversations.update", id(Room.aliceBob, [title])),
                ("conversations.add_members", id(Room.aliceBob, [newcomer])),
                ("conversations.remove_member", id(Room.aliceBob, user: .alice)),
            ] {
                try await alice.refused(.forbidden, method, params)
            }
        }
    }

    @Test("transfers the ownership, on leaving to the oldest admin")
    func owner() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            let carol = try await node.signedIn(.carol)
            func hand(to person: Person) -> JSONObject {
                JSONObject(id(Room.alps, user: person).members + [.init(name: "role", value: "owner")])
            }
            let handed = roles(try await alice.call("conversations.set_role", hand(to: .carol)))
            #expect(handed[Person.carol.id] == "owner" && handed[Person.alice.id] == "admin")
            try await alice.refused(.forbidden, "conversations.set_role", hand(to: .alice))
            let left = try await carol.call("conversations.remove_member", id(Room.alps, user: .carol))
            #expect(left == ["conversation_id": .string(Room.alps), "left": true])
            try await carol.refused(.notFound, "conversations.get", id(Room.alps))
            let after = roles(try await bob.call("conversations.get", id(Room.alps)))
            #expect(after.values.filter { $0 == "owner" }.count == 1 && after[Person.dave.id] == "member")
            #expect(
                try await node.database.value(
                    "select count(*) from public.conversation_members where conversation_id = '\(Room.alps)' and role = 'owner'"
                ) == "1")
        }
    }

    @Test("a removed member gets one left, and all on return")
    func removal() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.signedIn(.alice)
            let dave = try await other.signedIn(.dave)
            try await dave.sync()
            try await alice.call("conversations.remove_member", id(Room.alps, user: .dave))
            let changes = try await dave.nextChanges()
            #expect(changes["left"] == [.string(Room.alps)] && changes["conversations"] == nil)
            try await alice.send("without dave", to: Room.alps)
            #expect(try await dave.pushesUpTo("gone", on: one.database) == [])
            for method in ["messages.list", "conversations.get"] {
                try await dave.refused(.notFound, method, id(Room.alps))
            }
            let cursor = await dave.cursor
            try await alice.call(
                "conversations.add_members",
                id(Room.alps, [.init(name: "user_ids", value: [.string(Person.dave.id)])]))
            try await dave.follow("the group") { $0.has("without dave", in: Room.alps) }
            // The same for a device that was offline.
            let device = try await one.signedIn(.dave)
            try await device.sync(from: cursor)
            #expect(await device.state.has("without dave", in: Room.alps))
        }
    }
}
