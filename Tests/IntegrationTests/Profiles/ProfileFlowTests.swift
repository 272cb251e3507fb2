import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("Profile propagation", .timeLimit(.minutes(20)))
struct ProfileFlowTests {
    @Test(
        "every method and push has the same profile object",
        .covers("B29", "C5", "C8", "C15"))
    func sameObject() async throws {
        try await withTwoNodes { one, other in
            let circle = try await ProfileScenario(one, other)
            let me = try await circle.alice.call("me.update", ["full_name": "The Same", "bio": "everywhere"])
            let stored = try await circle.stored()
            expectProfile(stored)
            for client in circle.contacts {
                try await client.follow("the push") { $0.profiles[Person.alice.id] == stored }
                let answers = [
                    try await client.call("conversations.list"),
                    try await client.call("profiles.get", ["ids": [.string(Person.alice.id)]]),
                    ["profiles": [try await client.call("profiles.get", ["username": "alice"])]],
                    try await client.call("profiles.search", ["query": "the same"]),
                    try await client.call("sync.open", ["live": false]),
                ]
                for answer in answers {
                    let profile = answer["profiles"]?.arrayValue?.first { $0["id"]?.stringValue == Person.alice.id }
                    for name in Shape.profile { #expect(profile?[name] == stored[name], "\(name)") }
                }
                let messages = try await client.call("messages.list", ["conversation_id": .string(circle.group)])
                for name in Shape.sender {
                    #expect(messages["messages"]?[0]?["sender"]?[name] == stored[name], "\(name)")
                }
            }
            for name in Shape.profile { #expect(me[name] == stored[name], "\(name)") }
        }
    }

    @Test("fetches and updates a profile within the time limits", .covers("D29"))
    func documentedTimes() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            try await expectInTime("a profile") { stopwatch in
                stopwatch.begin()
                let me = try await alice.call("me.get")
                stopwatch.reached(.profileFetched)
                stopwatch.begin()
                expectMe(try await alice.call("me.save", ["bio": "\(me["version"]?.text ?? "")", "location": "Here"]))
                stopwatch.reached(.profileUpdated)
            }
        }
    }

    /// Fifty distinct changes, alternating between all fields.
    private static let fiftyChanges: [(method: String, params: JSONObject)] = {
        func changes(_ method: String, _ field: String, _ values: [JSON]) -> [(String, JSONObject)] {
            values.map { (method, JSONObject([.init(name: field, value: $0)])) }
        }
        let kinds = [
            changes("me.update", "full_name", (1...6).map { .string("Name \($0)") }),
            changes("me.update", "bio", ["Bio 1", "Bio 2", .null, "Bio 3", "Bio 4"]),
            changes(
                "me.update", "website", ["https://a.example.com", .null, "https://b.example.com", "https://c.example"]),
            changes("me.update", "location", ["Lyon", "Oslo", .null, "Aarhus"]),
            changes("me.update", "language_code", ["en", "pt", .null, "pt-BR"]),
            changes("me.update", "phone_number", ["+4915112345678", .null, "+33612345679", "+4512345678"]),
            changes("me.update", "date_of_birth", ["1990-01-15", "1990-01-16", .null, "1990-01-17"]),
            changes("me.update", "preferred_unit_system", ["imperial", "metric"]),
            changes("me.update", "preferences", [["one": 1], ["two": 2], ["three": 3]]),
            changes("me.update_physical", "biological_sex", ["male", "female", "other"]),
            changes("me.update_physical", "height_cm", [150, 170.5, .null, 180.5]),
            [
                JSONObject.builtIn("bee"), .custom("https://images.example.com/1.jpg"), .builtIn("owl"), .noAvatar,
                .custom("https://images.example.com/2.jpg"), .builtIn("whale"),
            ].map { ("me.set_avatar", $0) },
            changes("me.change_username", "username", ["sarah"]),
        ]
        return (0..<6).flatMap { turn in kinds.compactMap { $0.count > turn ? $0[turn] : nil } }
    }()

    @Test(
        "fifty changes from two sessions converge",
        .covers("C9", "C31"))
    func rapid() async throws {
        #expect(Set(Self.fiftyChanges.map { "\($0.method) \(JSON.object($0.params).text)" }).count == 50)
        try await withTwoNodes(NodeSettings(poolSize: 6)) { one, other in
            let circle = try await ProfileScenario(one, other)
            let halves = [0, 1].map { half in
                Self.fiftyChanges.enumerated().filter { $0.offset % 2 == half }.map(\.element)
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (client, changes) in zip([circle.alice, circle.elsewhere], halves) {
                    group.addTask {
                        for (method, params) in changes {
                            // Only the avatar members of its type.
                            let given = params.members.filter {
                                method != "me.set_avatar" || $0.name == "avatar_type" || $0.value != .null
                            }
                            try await client.call(method, JSONObject(given))
                        }
                    }
                }
                try await group.waitForAll()
            }
            try await circle.expectConverged()
            // Each field has the last value that one of the two set.
            let me = try await circle.alice.call("me.get")
            #expect(
                me["preferences"]?["one"] == 1 && me["preferences"]?["two"] == 2 && me["preferences"]?["three"] == 3)
            let last = halves.map { Dictionary($0.map { ($0.params.members.map(\.name), $0.params) }) { $1 } }
            for fields in Set(last.flatMap(\.keys)) where fields != ["preferences"] {
                #expect(
                    last.compactMap { $0[fields] }.contains { params in
                        params.members.allSatisfy { (me[$0.name] ?? me["physical"]?[$0.name]) == $0.value }
                    }, "\(fields)")
            }
            // No client received an older state after a newer one.
            for client in circle.everybody {
                let versions = await client.received.flatMap { changes in
                    (changes["profiles"]?.arrayValue ?? []).filter { $0["id"]?.stringValue == Person.alice.id }
                        .compactMap { $0["version"]?.integerValue }
                }
                #expect(versions == versions.sorted())
            }
        }
    }

    @Test(
        "a known message shows its sender's new name without a fetch",
        .covers("B43"))
    func heldMessages() async throws {
        try await withTwoNodes { one, other in
            let circle = try await ProfileScenario(one, other)
            let held = await circle.bob.state.messages[circle.group] ?? [:]
            let given = await circle.bob.received.count
            let message = try #require(held.values.first { $0["sender_id"]?.stringValue == Person.alice.id })
            #expect(await circle.bob.state.sender(of: message)?["full_name"] == "Alice Moreau")
            try await circle.alice.call(
                "me.save",
                ["full_name": "Sarah Chen", "avatar": ["avatar_type": "built_in", "avatar_id": "green_circle"]])
            try await circle.bob.follow("her new name") {
                $0.profiles[Person.alice.id]?["full_name"] == "Sarah Chen"
            }
            // He received her profile and no message. The messages that he holds keep their text, and show her new
            // profile.
            let state = await circle.bob.state
            for changes in await circle.bob.received[given...] { #expect(changes["messages"] == nil) }
            #expect(state.messages[circle.group] == held)
            #expect(message["sender"]?["full_name"] == "Alice Moreau")
            let shown = try #require(state.sender(of: message))
            #expect(shown["full_name"] == "Sarah Chen" && shown["avatar_id"] == "green_circle")
            // Messages that arrive from now on contain it.
            let list = try await circle.bob.call("messages.list", ["conversation_id": .string(circle.group)])
            #expect(list["messages"]?[0]?["sender"]?["full_name"] == "Sarah Chen")
        }
    }

    @Test(
        "concurrent changes of different fields are both kept",
        .covers("B40", "D22")
    )
    func differentFields() async throws {
        try await withTwoNodes { one, other in
            let circle = try await ProfileScenario(one, other)
            for round in 0..<10 {
                async let bio = circle.alice.call("me.update", ["bio": "bio \(round)"])
                async let name = circle.elsewhere.call("me.update", ["full_name": "Name \(round)"])
                async let height = circle.elsewhere.call("me.update_physical", ["height_cm": .integer(150 + round)])
                _ = try await (bio, name, height)
                let me = try await circle.alice.call("me.get")
                #expect(me["bio"] == "bio \(round)" && me["full_name"] == "Name \(round)")
                #expect(me["physical"]?["height_cm"]?.integerValue == 150 + round)
                // Fields that no change named are unchanged.
                #expect(me["phone_number"] == "+33612345678" && me["preferences"]?["theme"] == "dark")
            }
            try await circle.expectConverged()
        }
    }

    @Test("contacts see changes of username and bio", .covers("B12"))
    func usernameAndBio() async throws {
        try await withTwoNodes { one, other in
            let circle = try await ProfileScenario(one, other)
            async let username = circle.alice.call("me.change_username", ["username": "sarah"])
            async let bio = circle.elsewhere.call("me.update", ["bio": "together"])
            for me in try await [username, bio] { expectMe(me) }
            try await circle.expectEverywhere(["username": "sarah"])
            for client in circle.contacts {
                #expect(await client.state.profiles[Person.alice.id]?["bio"] == "together")
            }
        }
    }

    @Test("a cursor returns the final state once", .covers("C36"))
    func offline() async throws {
        try await withTwoNodes { one, other in
            let circle = try await ProfileScenario(one, other)
            let cursor = await circle.bob.cursor
            await circle.bob.close()
            try await circle.alice.call("me.set_avatar", ["avatar_type": "built_in", "avatar_id": "bee"])
            try await circle.alice.call("me.update", ["full_name": "Sarah Chen"])
            let back = try await one.signedIn(.bob)
            let delta = try await back.sync(from: cursor)
            #expect(delta.count == 1 && delta[0]["reset"] == false)
            #expect(delta[0]["profiles"] == [try await circle.stored()])
            #expect(try await back.sync(from: back.cursor)[0].names == ["cursor", "reset", "more"])
        }
    }

    @Test("users without a shared conversation get no push")
    func strangers() async throws {
        try await withNode { node in
            let stranger = try await node.stranger()
            try await stranger.sync()
            let alice = try await node.signedIn(.alice)
            try await alice.call("me.set_avatar", ["avatar_type": "built_in", "avatar_id": "bee"])
            #expect(try await stranger.pushesUpTo("end", on: node.database) == [])
            #expect(try await stranger.call("profiles.get", ["username": "alice"])["avatar_id"] == "bee")
        }
    }
}
