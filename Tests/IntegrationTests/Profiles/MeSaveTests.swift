@testable import Messaging
import Accounts
import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("me.save", .timeLimit(.minutes(20)))
struct MeSaveTests {
    /// All fields of an edit screen.
    private static let screen: JSONObject = [
        "full_name": "Sarah Chen", "bio": "All at once", "website": "https://sarah.example.com", "location": "Porto",
        "language_code": "pt", "phone_number": "+351912345678", "date_of_birth": "1990-05-17",
        "preferred_unit_system": "imperial", "preferences": ["theme": "light"], "username": "sarah.chen",
        "avatar": ["avatar_type": "built_in", "avatar_id": "blue_circle"],
        "physical": ["biological_sex": "female", "height_cm": 170.5, "date_of_birth": "1990-05-17"],
    ]

    @Test(
        "saves everything in one version and one push",
        .covers("B41", "D22"))
    func everything() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.signedIn(.alice)
            let elsewhere = try await other.signedIn(.alice)
            let bob = try await other.signedIn(.bob)
            for client in [alice, elsewhere, bob] { try await client.sync() }
            let before = try await alice.call("me.get")
            let me = try await alice.call("me.save", Self.screen)
            expectMe(me)
            for member in Self.screen.members {
                switch member.name {
                case "preferences":
                    #expect(me["preferences"]?["theme"] == "light" && me["preferences"]?["notifications"] != nil)
                case "avatar":
                    #expect(me["avatar_type"] == "built_in" && me["avatar_id"] == "blue_circle")
                default: #expect(me[member.name] == member.value, "\(member.name)")
                }
            }
            #expect(me["version"]?.integerValue == (before["version"]?.integerValue ?? 0) + 1)
            for client in [alice, elsewhere] { #expect(try await client.nextChanges()["me"] == me) }
            let profile = try #require(try await bob.nextChanges()["profiles"]?[0])
            for name in Shape.profile { #expect(profile[name] == me[name], "\(name)") }
            for client in [alice, elsewhere, bob] {
                #expect(try await client.pushesUpTo("end", on: one.database) == [])
            }
        }
    }

    @Test("saves nothing if a field is invalid, and names its path", .covers("B41"))
    func nothing() async throws {
        try await withNode { node in
            let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
            for client in [alice, bob] { try await client.sync() }
            let before = try await WireTests.fingerprint(node.database)
            let long = JSON.string("https://a.bc/" + String(repeating: "x", count: 2_036))
            let bad: [(field: String, wrong: JSONObject)] = [
                ("full_name", ["full_name": ""]), ("bio", ["bio": 7]), ("website", ["website": "http://x.example"]),
                ("phone_number", ["phone_number": "912"]),
                ("date_of_birth", ["date_of_birth": "2001-02-29", "physical": [:]]),
                ("date_of_birth", ["date_of_birth": "1899-12-31", "physical": [:]]),
                ("preferred_unit_system", ["preferred_unit_system": "us"]), ("preferences", ["preferences": [1]]),
                ("username", ["username": "a b"]), ("username", ["username": .null]), ("username", ["username": 7]),
                ("avatar", ["avatar": .null]), ("avatar", ["avatar": "fox"]), ("avatar", ["avatar": [1]]),
                ("avatar.avatar_type", ["avatar": [:]]), ("avatar.avatar_type", ["avatar": ["avatar_type": "none"]]),
                ("avatar.avatar_type", ["avatar": ["avatar_type": 1]]),
                ("avatar.avatar_type", ["avatar": ["avatar_id": "fox"]]),
                ("avatar.avatar_id", ["avatar": ["avatar_type": "built_in"]]),
                ("avatar.avatar_id", ["avatar": ["avatar_type": "built_in", "avatar_id": 5]]),
                ("avatar.avatar_id", ["avatar": ["avatar_type": "built_in", "avatar_id": "invisible_circle"]]),
                ("avatar.avatar_id", ["avatar": ["avatar_type": .null, "avatar_id": "fox"]]),
                ("avatar.avatar_url", ["avatar": ["avatar_type": "custom"]]),
                ("avatar.avatar_url", ["avatar": ["avatar_type": "custom", "avatar_url": long]]),
                ("avatar.avatar_url", ["avatar": ["avatar_type": "custom", "avatar_url": "http://x.example"]]),
                ("physical", ["physical": .null]), ("physical", ["physical": 7]),
                ("physical.biological_sex", ["physical": ["biological_sex": "f"]]),
                ("physical.biological_sex", ["physical": ["biological_sex": 1]]),
                ("physical.height_cm", ["physical": ["height_cm": 29.99]]),
                ("physical.height_cm", ["physical": ["height_cm": "170"]]),
                ("physical.date_of_birth", ["physical": ["date_of_birth": "9999-12-31"]]),
                ("physical.date_of_birth", ["physical": ["date_of_birth": "17.5.1990"]]),
                ("physical.date_of_birth", ["physical": ["date_of_birth": 19900517]]),
                ("physical.date_of_birth", ["physical": ["date_of_birth": "1990-05-18"]]),
                ("physical.date_of_birth", ["date_of_birth": "1990-05-18"]),
                ("avatar.media_id", ["avatar": ["avatar_type": "custom", "media_id": .string(nobody)]]),
                ("avatar.photoURL", ["avatar": ["photoURL": "https://a.example.com"]]),
                ("physical.birthday", ["physical": ["birthday": "1990-05-17"]]), ("avatar_id", ["avatar_id": "fox"]),
                ("attributes", ["attributes": ["tier": "gold"]]), ("is_verified", ["is_verified": true]),
                ("if_version", ["if_version": "1"]),
            ]
            for (field, wrong) in bad {
                let names = wrong.members.map(\.name)
                let params = JSONObject(Self.screen.members.filter { !names.contains($0.name) } + wrong.members)
                try await alice.refused(.invalidParams, "me.save", params, field: field)
            }
            #expect(try await WireTests.fingerprint(node.database) == before)
            for client in [alice, bob] {
                #expect(try await client.pushesUpTo("end", on: node.database) == [])
            }
        }
    }

    @Test("saves nothing if the username is not available")
    func username() async throws {
        try await withNode { node in
            let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
            let named = { (name: String) -> JSONObject in ["bio": "unsaved", "username": .string(name)] }
            let taken = try await bob.refused(.usernameTaken, "me.save", named("Carol"))
            #expect(taken?.field == "username")
            let me = try await alice.call("me.save", ["bio": "saved", "username": "Moreau"])
            #expect(me["username"] == "moreau" && me["username_change_count"] == 1)
            try await bob.refused(.usernameTaken, "me.save", named("alice"))
            let cooling = try await alice.refused(.usernameCooldown, "me.save", named("alice.m"))
            #expect(cooling?.data["retry_at"] == me["username_change_allowed_at"])
            for client in [alice, bob] { #expect(try await client.call("me.get")["bio"] != "unsaved") }
            // The same username again is no change, so a screen may send all that it shows.
            let again = try await alice.call("me.save", ["bio": "saved again", "username": "moreau"])
            #expect(again["bio"] == "saved again" && again["username_change_count"] == 1)
            try await node.database.setClock(ahead: "90 days 1 minute")
            #expect(try await alice.call("me.save", named("alice"))["username"] == "alice")
        }
    }

    @Test("saves one of two concurrent changes of a version")
    func race() async throws {
        try await withTwoNodes { one, other in
            let screens = ["one", "other"].map { name -> JSONObject in
                ["bio": .string(name), "username": .string("alice.\(name)"), "physical": ["height_cm": 180]]
            }
            let clients = [try await one.signedIn(.alice), try await other.signedIn(.alice)]
            let version = try #require(try await clients[0].call("me.get")["version"])
            let outcomes = try await concurrentOutcomes(0..<2) { number in
                let params = screens[number].members + [.init(name: "if_version", value: version)]
                try await clients[number].call("me.save", JSONObject(params))
            }
            #expect(outcomes == ["done", "version_conflict"])
            let me = try await clients[0].call("me.get")
            #expect(me["username"]?.stringValue == me["bio"]?.stringValue.map { "alice.\($0)" })
            #expect(me["version"]?.integerValue == (version.integerValue ?? 0) + 1)
        }
    }

    @Test("saves a guest's data, which an upgrade keeps")
    func guest() async throws {
        try await withNode { node in
            let guest = try await node.guest()
            let saved = try await guest.call("me.save", Self.screen)
            expectMe(saved)
            #expect(saved["is_guest"] == true && saved["full_name"] == "Sarah Chen")
            try await guest.call(
                "auth.upgrade", ["email": "sarah@example.com", "password": .string(TestNode.password)])
            let me = try await node.signedIn(with: try await node.connect().logIn("sarah@example.com")).call("me.get")
            let ofAccount = ["is_guest", "email", "version", "updated_at"]
            for name in Shape.me where !ofAccount.contains(name) { #expect(me[name] == saved[name], "\(name)") }
        }
    }

    @Test("costs one profile change, or ten ordinary ones, of the rate limit")
    func bounded() async throws {
        var rates = Rates.withoutRefill
        rates.sendsPerSecond = 1
        rates.sendBurst = 20
        try await withNode(NodeSettings(rates: rates)) { node in
            let alice = try await node.signedIn(.alice)
            let saved = try await alice.call("me.save", ["bio": "saved", "physical": ["height_cm": 171]])
            let updated = try await alice.call("me.update", ["location": "Here"])
            try await alice.refused(.rateLimited, "me.save", ["bio": "refused", "physical": ["height_cm": 172]])
            try await alice.refused(.rateLimited, "me.update", ["location": "There"])
            #expect(saved["bio"] == "saved" && updated["location"] == "Here")
            #expect(try await alice.call("me.get") == updated)
        }
    }
}
