@testable import LineClient
@testable import Messaging
import TestSupport
import Testing
@testable import WireProtocol

@Suite("Profiles in conversations", .timeLimit(.minutes(20)))
struct ConversationProfilesTests {
    /// Calls of Alice for each method with `profiles`, repeatable with the same result.
    private static let calls: [(method: String, params: JSONObject)] = [
        ("conversations.open", ["user_id": .string(Person.bob.id)]),
        ("conversations.get", ["conversation_id": .string(Room.alps)]),
        (
            "conversations.create_group",
            ["title": "Boat trip", "member_ids": [.string(Person.frank.id), .string(Person.bob.id)]]
        ),
        ("conversations.update", ["conversation_id": .string(Room.alps), "title": "Weekend in the Alps"]),
        ("conversations.add_members", ["conversation_id": .string(Room.alps), "user_ids": [.string(Person.bob.id)]]),
        (
            "conversations.set_role",
            ["conversation_id": .string(Room.alps), "user_id": .string(Person.bob.id), "role": "admin"]
        ),
    ]

    private static func asking(_ profiles: JSON, _ params: JSONObject) -> JSONObject {
        JSONObject(params.members + [.init(name: "profiles", value: profiles)])
    }

    private static func ids(_ objects: JSON?, _ name: String) -> [String] {
        objects?.arrayValue?.compactMap { $0[name]?.stringValue } ?? []
    }

    @Test(
        "are included on request",
        .covers("A18", "C16", "C25"))
    func profiles() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            #expect(
                Set(Self.calls.map(\.method))
                    == Set(SampleParameters.methods.filter { $0.parameters.contains("profiles") }.map(\.method)))
            for (method, params) in Self.calls {
                let alone = try await alice.call(method, params)
                expectConversation(alone)
                for given: JSON in [false, .null] {
                    expectConversation(try await alice.call(method, Self.asking(given, params)))
                }
                let answer = try await alice.call(method, Self.asking(true, params))
                expectShape(answer, Shape.conversation + ["profiles"])
                expectConversation(answer.without("profiles"))
                // Each call creates another group.
                if method != "conversations.create_group" { #expect(answer.without("profiles") == alone, "\(method)") }
                let profiles = answer["profiles"]
                for profile in profiles?.arrayValue ?? [] { expectProfile(profile) }
                let members = Self.ids(answer["members"], "user_id")
                #expect(members.contains(Person.alice.id) && members.count > 1)
                #expect(Self.ids(profiles, "id") == members, "\(method)")
                let got = try await alice.call("profiles.get", ["ids": .array(members.map(JSON.string))])
                #expect(profiles == got["profiles"], "\(method)")
                let hers = profiles?.arrayValue?.first { $0["id"]?.stringValue == Person.alice.id }
                #expect(hers?["avatar_id"] == "fox", "\(method)")
                for wrong: JSON in ["true", 1, [true]] {
                    try await alice.refused(
                        .invalidParams, method, Self.asking(wrong, params), field: "profiles")
                }
            }
            try await alice.refused(
                .invalidParams, "conversations.remove_member",
                Self.asking(true, ["conversation_id": .string(Room.alps), "user_id": .string(Person.dave.id)]),
                field: "profiles")
        }
    }

    @Test("are current, with tombstones of deleted users", .covers("A18"))
    func asTheyAre() async throws {
        try await withNode { node in
            let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
            let open = Self.asking(true, ["user_id": .string(Person.bob.id)])
            func bobs(_ answer: JSON) -> JSON? {
                answer["profiles"]?.arrayValue?.first { $0["id"]?.stringValue == Person.bob.id }
            }
            try await bob.call("me.update", ["full_name": "Robert Okafor"])
            #expect(bobs(try await alice.call("conversations.open", open))?["full_name"] == "Robert Okafor")
            try await bob.call("me.delete", ["password": .string(TestNode.password)])
            let tombstone = bobs(try await alice.call("conversations.open", open))
            expectProfile(tombstone)
            #expect(tombstone?["is_deleted"] == true)
            for name in ["full_name", "username", "bio", "avatar_type"] {
                #expect(tombstone?[name] == .null, "\(name)")
            }
        }
    }

    @Test("are visible to members only")
    func hidden() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            for outsider in [try await node.signedIn(.erin), try await node.stranger(), try await node.guest()] {
                func answer(_ method: String, _ conversation: String) async throws -> String {
                    var params = try #require(Self.calls.first { $0.method == method }).params.members
                    params.removeAll { $0.name == "conversation_id" }
                    params.append(.init(name: "conversation_id", value: .string(conversation)))
                    return try await outsider.answerText(method, .object(Self.asking(true, JSONObject(params))))
                }
                for (method, params) in Self.calls
                where params.members.contains(where: { $0.name == "conversation_id" }) {
                    let real = try await answer(method, Room.alps)
                    #expect(real.contains(#""code":"not_found""#), "\(method)")
                    #expect(real == (try await answer(method, nobody)), "\(method)")
                }
            }
            // A former member no longer sees it.
            let dave = try await node.signedIn(.dave)
            let get = Self.asking(true, ["conversation_id": .string(Room.alps)])
            #expect(Self.ids(try await dave.call("conversations.get", get)["profiles"], "id").count == 4)
            let left = try await alice.call(
                "conversations.remove_member",
                ["conversation_id": .string(Room.alps), "user_id": .string(Person.dave.id)])
            expectConversation(left)
            try await dave.refused(.notFound, "conversations.get", get)
            let rest = Self.ids(try await alice.call("conversations.get", get)["profiles"], "id")
            #expect(Set(rest) == [Person.alice.id, Person.bob.id, Person.carol.id])
        }
    }
}
