import Foundations
import LineClient
@testable import Messaging
import TestSupport
import Testing
import WireProtocol

/// The test cases of the avatar and name sync document by their titles, with four clients on two nodes.
@Suite("Avatar and name propagation", .timeLimit(.minutes(20)))
struct AvatarSyncTests {
    private static let photo = "https://images.example.com/photo-1.jpg"
    private static let otherPhoto = "https://images.example.com/photo-2.jpg"

    @Test("Test Case 1: Built-in Avatar Selection and Sync", .covers("C1", "C2", "C5", "C6", "C7", "C26", "C32", "C33"))
    func builtIn() async throws {
        try await withTwoNodes { one, other in
            let circle = try await ProfileScenario(one, other)
            try await circle.change("me.set_avatar", to: .builtIn("blue_circle"))
            try await circle.expectEverywhere(.builtIn("blue_circle"))
        }
    }

    @Test("Test Case 2: Custom Photo Selection and Sync", .covers("B18", "C27"))
    func customPhoto() async throws {
        try await PictureFolder.with { folder in
            var settings = NodeSettings()
            settings.pictures = folder.path
            try await withTwoNodes(settings) { one, other in
                let circle = try await ProfileScenario(one, other)
                try await circle.change("me.set_avatar", to: .builtIn("blue_circle"))
                // The photo itself, with its bytes.
                let url = try await circle.alice.wear(type: .jpeg, bytes: 500_000)
                try await circle.elsewhere.follow("her photo") { $0.me?["avatar_url"] == .string(url) }
                for client in circle.contacts {
                    try await client.follow("her photo") {
                        $0.profiles[Person.alice.id]?["avatar_url"] == .string(url)
                    }
                }
                try await circle.expectEverywhere(.custom(url))
                #expect(try await PictureAnswer.get(url).body == picture(.jpeg, bytes: 500_000))
                // And a photo stored elsewhere.
                _ = try await circle.alice.call("me.set_avatar", ["avatar_type": .null])
                try await circle.change("me.set_avatar", to: .custom(Self.photo))
                try await circle.expectEverywhere(.custom(Self.photo))
            }
        }
    }

    @Test("Test Case 3: Switch Between Avatar Types", .covers("C4", "C15", "C28"))
    func switching() async throws {
        try await withTwoNodes { one, other in
            let circle = try await ProfileScenario(one, other)
            let faces: [JSONObject] = [
                .custom(Self.photo), .builtIn("red_circle"), .custom(Self.otherPhoto), .builtIn("green_circle"),
                .noAvatar,
            ]
            for face in faces {
                try await circle.change("me.set_avatar", to: face)
                try await circle.expectEverywhere(face)
            }
        }
    }

    @Test("Test Case 4: Display Name Change and Sync", .covers("B24", "B29", "B31", "C6", "C8", "C29", "C32", "C33"))
    func displayName() async throws {
        try await withTwoNodes { one, other in
            let circle = try await ProfileScenario(one, other)
            for name in ["Test2", "Sarah Chen"] {
                try await circle.change("me.update", to: ["full_name": .string(name)])
                try await circle.expectEverywhere(["full_name": .string(name), "username": "alice"])
            }
            // Offline and back on another connection: still the same.
            await circle.alice.close()
            #expect(try await one.signedIn(.alice).call("me.get")["full_name"] == "Sarah Chen")
        }
    }

    @Test("Test Case 5: Database Consistency Check", .covers("C9", "C30"))
    func consistency() async throws {
        try await withTwoNodes { one, other in
            let circle = try await ProfileScenario(one, other)
            let steps: [(String, JSONObject)] = [
                ("me.set_avatar", ["avatar_type": "built_in", "avatar_id": "bee"]),
                ("me.set_avatar", ["avatar_type": "custom", "avatar_url": .string(Self.photo)]),
                ("me.update", ["full_name": "Sarah"]),
                ("me.set_avatar", ["avatar_type": "built_in", "avatar_id": "owl"]),
                ("me.update", ["full_name": "Sarah Chen", "bio": "both at once"]),
                ("me.set_avatar", ["avatar_type": .null]), ("me.change_username", ["username": "sarah"]),
                ("me.set_avatar", ["avatar_type": "built_in", "avatar_id": "panda"]),
            ]
            for (place, (method, params)) in steps.enumerated() {
                try await (place.isMultiple(of: 2) ? circle.alice : circle.elsewhere).call(method, params)
                let stored = try await circle.stored()
                for member in params.members {
                    #expect(stored[member.name] == member.value, "step \(place): \(member.name)")
                }
                for client in circle.contacts {
                    try await client.follow("step \(place)") { $0.profiles[Person.alice.id] == stored }
                }
            }
            try await circle.expectConverged()
            try await circle.expectOneShape()
            // Nothing orphaned, nothing in conflict.
            #expect(
                try await circle.database.value(
                    """
                    select count(*) from public.user_profiles p
                     where (p.avatar_type is not distinct from 'built_in') <> (p.avatar_id is not null)
                        or (p.avatar_type is not distinct from 'custom') <> (p.avatar_url is not null)
                    """) == "0")
        }
    }

    @Test("Test Case 6: Multiple Rapid Changes", .covers("C31"))
    func rapid() async throws {
        try await withTwoNodes { one, other in
            let circle = try await ProfileScenario(one, other)
            // Sent without waiting for responses, like quick taps.
            let avatars = ["bee", "owl", "panda", "whale"].map { #"{"avatar_type":"built_in","avatar_id":"\#($0)"}"# }
            let names = ["Sarah", "Sarah C", "Sarah Ch", "Sarah Chen"].map { #"{"full_name":"\#($0)"}"# }
            let requests = avatars.map { ("me.set_avatar", $0) } + names.map { ("me.update", $0) }
            for (method, params) in requests {
                try await circle.alice.line.send(
                    line: #"{"jsonrpc":"2.0","id":"x","method":"\#(method)","params":\#(params)}"#)
            }
            for _ in requests { #expect(try await circle.alice.nextLine().contains(#""result""#)) }
            let last = JSONObject(JSONObject.builtIn("whale").members + [.init(name: "full_name", value: "Sarah Chen")])
            try await circle.expectEverywhere(last)
            try await circle.expectConverged()
        }
    }

    @Test(
        "rejects an invalid avatar and keeps the current one",
        .covers("C3")
    )
    func refused() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let me = try await alice.call("me.get")
            let long = "https://a.bc/" + String(repeating: "x", count: 2_036)
            let bad: [(String, JSONObject)] = [
                ("avatar_type", [:]), ("avatar_id", ["avatar_type": "built_in"]),
                ("avatar_id", ["avatar_type": "built_in", "avatar_id": "invisible_circle"]),
                ("avatar_id", ["avatar_type": "built_in", "avatar_id": "Fox"]),
                ("avatar_id", ["avatar_type": "built_in", "avatar_id": 5]),
                ("avatar_url", ["avatar_type": "built_in", "avatar_id": "fox", "avatar_url": .string(Self.photo)]),
                ("avatar_url", ["avatar_type": "built_in", "avatar_url": .string(Self.photo)]),
                ("avatar_url", ["avatar_type": "custom"]), ("avatar_url", ["avatar_type": "custom", "avatar_url": ""]),
                ("avatar_url", ["avatar_type": "custom", "avatar_url": "http://a.example.com/x.png"]),
                ("avatar_url", ["avatar_type": "custom", "avatar_url": "javascript:alert(1)"]),
                ("avatar_url", ["avatar_type": "custom", "avatar_url": .string(long)]),
                ("avatar_id", ["avatar_type": "custom", "avatar_id": "fox", "avatar_url": .string(Self.photo)]),
                ("avatar_id", ["avatar_type": .null, "avatar_id": "fox"]),
                ("avatar_url", ["avatar_type": .null, "avatar_url": .string(Self.photo)]),
            ]
            for (field, params) in bad {
                try await alice.refused(.invalidParams, "me.set_avatar", params, field: field)
            }
            #expect(try await alice.call("me.get") == me)
            let most = JSON.string(String(long.dropLast()))
            #expect(
                try await alice.call("me.set_avatar", ["avatar_type": "custom", "avatar_url": most])["avatar_url"]
                    == most)
        }
    }

    @Test("SQL cannot store an invalid avatar", .covers("C3", "C4"))
    func sql() async throws {
        try await withNode { node in
            let changes = [
                "avatar_type = 'custom'", "avatar_url = 'https://a.example.com'", "avatar_id = 'invisible_circle'",
                "avatar_type = null", "avatar_type = 'none'",
                "avatar_type = 'custom', avatar_id = null, avatar_url = 'http://a.example.com'",
            ]
            for change in changes {
                let sql = "update public.user_profiles set \(change) where id = '\(Person.alice.id)'"
                await #expect(throws: (any Error).self, "\(change)") { try await node.database.psql(sql) }
                await #expect(throws: (any Error).self, "\(change)") {
                    try await node.database.psql(as: Person.alice.id, sql)
                }
            }
            let alice = try await node.signedIn(.alice)
            #expect(try await alice.call("me.get")["avatar_id"] == "fox")
        }
    }
}
