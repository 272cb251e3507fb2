import BoundedWait
@testable import LineClient
@testable import Messaging
import TestSupport
import Testing
@testable import WireProtocol

@Suite("Completeness of Me", .timeLimit(.minutes(20)))
struct MeCompletenessTests {
    /// A change of each kind that a user can make to its own data.
    struct MeUpdate: Sendable, CustomTestStringConvertible {
        let method: String
        let params: JSONObject

        /// The members that change as a result.
        var also: [String] = []
        var testDescription: String { "\(method) \(JSON.object(params).text)" }
    }

    private static let changes = [
        MeUpdate(
            method: "me.update",
            params: [
                "full_name": "Whole Alice", "bio": "All of it", "website": "https://whole.example.com",
                "location": "Everywhere", "language_code": "pt-BR", "phone_number": "+4915112345678",
                "date_of_birth": "1990-01-02", "preferred_unit_system": "imperial", "preferences": ["a": 1],
            ], also: ["physical"]),
        MeUpdate(method: "me.update", params: ["bio": .null]),
        MeUpdate(method: "me.update", params: ["preferences": ["theme": .null]]),
        MeUpdate(
            method: "me.update_physical",
            params: ["biological_sex": "female", "height_cm": 170.5, "date_of_birth": "1990-01-02"],
            also: ["physical"]),
        MeUpdate(method: "me.update_physical", params: ["date_of_birth": .null], also: ["physical"]),
        MeUpdate(
            method: "me.change_username", params: ["username": "Whole.Alice"],
            also: ["username_changed_at", "username_change_count", "username_change_allowed_at"]),
        MeUpdate(method: "me.set_avatar", params: ["avatar_type": "built_in", "avatar_id": "whale"]),
        MeUpdate(
            method: "me.set_avatar", params: ["avatar_type": "custom", "avatar_url": "https://a.example.com/a.png"],
            also: ["avatar_id"]),
        MeUpdate(method: "me.set_avatar", params: ["avatar_type": .null], also: ["avatar_id"]),
        MeUpdate(method: "me.save", params: ["bio": "saved alone", "location": .null]),
        MeUpdate(
            method: "me.save", params: ["username": "Saved.Alice"],
            also: ["username_changed_at", "username_change_count", "username_change_allowed_at"]),
        MeUpdate(
            method: "me.save", params: ["avatar": ["avatar_type": "built_in", "avatar_id": "red_circle"]],
            also: ["avatar_id"]),
        MeUpdate(
            method: "me.save", params: ["physical": ["height_cm": 171.5, "date_of_birth": "1990-01-03"]],
            also: ["date_of_birth"]),
        MeUpdate(
            method: "me.save",
            params: [
                "full_name": "Saved Alice", "bio": "All of it", "website": "https://saved.example.com",
                "location": "Everywhere", "language_code": "pt-BR", "phone_number": "+4915112345678",
                "date_of_birth": "1990-01-02", "preferred_unit_system": "imperial", "preferences": ["a": 1],
                "username": "saved.alice",
                "avatar": ["avatar_type": "custom", "avatar_url": "https://a.example.com/a"],
                "physical": ["biological_sex": "female", "height_cm": 170, "date_of_birth": "1990-01-02"],
            ],
            also: [
                "avatar_type", "avatar_id", "avatar_url", "username_changed_at", "username_change_count",
                "username_change_allowed_at",
            ]),
    ]

    @Test(
        "every method returns and pushes the complete Me",
        .covers("B7", "B10", "B11", "B16", "B18", "B27", "B40", "C1", "C7", "C24", "D6", "D20", "D21", "E18"),
        arguments: changes)
    func answers(_ change: MeUpdate) async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.signedIn(.alice)
            let elsewhere = try await other.signedIn(.alice)
            for client in [alice, elsewhere] { try await client.sync() }
            let before = try await elsewhere.call("me.get")
            let answer = try await alice.call(change.method, change.params)
            expectMe(answer)
            let got = try await elsewhere.call("me.get")
            let pushes = try await [alice, elsewhere].asyncMap { try await $0.nextChanges()["me"] }
            let world = try await elsewhere.sync(live: false)[0]["me"]
            for name in Shape.me {
                #expect(answer[name] == got[name], "\(name), of me.get")
                #expect(answer[name] == world?[name], "\(name), of sync.open")
                for push in pushes { #expect(answer[name] == push?[name], "\(name), of a push") }
            }
            // Fields that it did not name are unchanged.
            let touched = change.params.members.map(\.name) + change.also + ["version", "updated_at"]
            for name in Shape.me where !touched.contains(name) { #expect(answer[name] == before[name], "\(name)") }
            let version = { (me: JSON) in me["version"]?.integerValue ?? 0 }
            #expect(version(answer) == version(before) + 1)
        }
    }

    @Test(
        "all methods set the same date of birth", .covers("D16"))
    func dateOfBirth() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            for (method, date) in [
                ("me.update_physical", "1988-08-08"), ("me.update", "1989-09-09"), ("me.update_physical", "1990-10-10"),
            ] {
                let me = try await alice.call(method, ["date_of_birth": .string(date)])
                #expect(me["date_of_birth"]?.stringValue == date)
                #expect(me["physical"]?["date_of_birth"]?.stringValue == date)
            }
        }
    }

    @Test(
        "every method rejects an outdated if_version with the current Me",
        .covers("B40"),
        arguments: [
            MeUpdate(method: "me.update", params: ["bio": "of a stale client"]),
            MeUpdate(method: "me.update_physical", params: ["height_cm": 150]),
            MeUpdate(method: "me.change_username", params: ["username": "stale.alice"]),
            MeUpdate(method: "me.set_avatar", params: ["avatar_type": "built_in", "avatar_id": "owl"]),
            MeUpdate(
                method: "me.save",
                params: [
                    "bio": "of a stale client", "username": "stale.alice", "physical": ["height_cm": 150],
                    "avatar": ["avatar_type": "built_in", "avatar_id": "owl"],
                ]),
        ])
    func conflict(_ change: MeUpdate) async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let stale = try #require(try await alice.call("me.get")["version"])
            let me = try await alice.call("me.update", ["location": "Elsewhere"])
            let params = JSONObject(change.params.members + [.init(name: "if_version", value: stale)])
            let error = try await alice.refused(.versionConflict, change.method, params)
            #expect(error?.data["current"] == me)
            #expect(try await alice.call("me.get") == me)
            let current = JSONObject(change.params.members + [.init(name: "if_version", value: me["version"] ?? 0)])
            expectMe(try await alice.call(change.method, current))
        }
    }

    /// The parameter names of the source documents, for each of their layers.
    private static let spellings: [(method: String, right: String, wrong: [String])] = [
        ("me.update", "full_name", ["displayName", "display_name", "name", "fullName", "firstName", "lastName"]),
        ("me.update", "phone_number", ["phone", "phoneNumber"]),
        ("me.update", "language_code", ["preferredLanguage", "language", "languageCode"]),
        ("me.update", "date_of_birth", ["birthdate", "birthday", "dateOfBirth"]),
        ("me.update", "preferred_unit_system", ["preferredUnitSystem"]),
        ("me.update_physical", "date_of_birth", ["birthdate", "birthday", "dateOfBirth"]),
        ("me.update_physical", "height_cm", ["heightCm", "height"]),
        ("me.update_physical", "biological_sex", ["biologicalSex"]),
        (
            "me.set_avatar", "avatar_url",
            [
                "photoURL", "profilePicture", "profile_picture", "profilePictureUrl", "profile_picture_url", "imageUrl",
                "profileImage",
            ]
        ),
        ("me.set_avatar", "avatar_type", ["avatarType"]), ("me.set_avatar", "avatar_id", ["avatarId"]),
        ("me.change_username", "username", ["newUsername"]),
        ("me.save", "full_name", ["displayName"]), ("me.save", "phone_number", ["phone"]),
        ("me.save", "username", ["newUsername"]), ("me.save", "avatar.avatar_url", ["photoURL"]),
        ("me.save", "avatar.avatar_id", ["avatarId"]), ("me.save", "physical.height_cm", ["height"]),
        ("auth.register", "full_name", ["displayName", "name", "firstName", "lastName"]),
        ("auth.guest", "full_name", ["displayName", "name"]), ("auth.upgrade", "full_name", ["displayName", "name"]),
        ("auth.refresh", "refresh_token", ["refreshToken"]),
        ("session.authenticate", "access_token", ["accessToken", "jwt_token"]),
        ("conversations.open", "user_id", ["userId"]),
        ("messages.send", "conversation_id", ["conversationId", "convId", "conversation"]),
        ("messages.send", "content", ["text", "last_message"]),
    ]

    /// The fields of the source documents that `me.update` does not set.
    private static let others = [
        "email", "apiId", "user_id", "phoneVerified", "isVerified", "averageRating", "totalRatings", "totalReviews",
        "isCreator", "creatorTier", "subscriptionType", "activeListings", "lastUsernameChange", "usernameChangeCount",
        "senderPhotoURL", "senderAvatarType", "senderAvatarId", "isOnline", "lastSeen", "fcmToken", "unread_count",
        "is_read", "weight", "activityLevel", "createdAt", "updatedAt", "created_at", "updated_at",
    ]

    @Test(
        "every method rejects misspelled and unknown fields",
        .covers("B14", "B15", "B36", "B37", "B38", "E9")
    )
    func spellings() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let before = try await WireTests.fingerprint(node.database)
            for (method, right, spellings) in Self.spellings {
                let operation = try #require(SampleParameters.methods.first { $0.method == method })
                let good = try #require(SampleParameters.params(of: operation)).members.filter { $0.name != right }
                for wrong in spellings {
                    let error = try await alice.refused(
                        .invalidParams, method, JSONObject(good + [.init(name: wrong, value: "x")]), field: wrong)
                    #expect(error?.data["suggestion"]?.stringValue == right, "\(method): \(wrong)")
                }
            }
            for name in Self.others {
                try await alice.refused(
                    .invalidParams, "me.update", ["bio": "x", name: "x"], field: name)
            }
            #expect(try await WireTests.fingerprint(node.database) == before)
        }
    }

    @Test(
        "accepts every field at its bounds",
        .covers("B25", "B39", "D6", "D27", "E9"))
    func within() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let long = { (count: Int) in JSON.string(String(repeating: "x", count: count)) }
            let today = try #require(try await node.database.value("select (now() at time zone 'utc')::date"))
            // 16 KiB of JSON, including its structure.
            let preferences: JSON = ["k": long(16_384 - #"{"k":""}"#.utf8.count)]
            #expect(try await alice.call("me.update", ["preferences": .null])["preferences"] == [:])
            let good: [(String, String, [JSON])] = [
                ("me.update", "full_name", ["x", long(100)]), ("me.update", "bio", [long(500), "x"]),
                (
                    "me.update", "website",
                    [.string("https://a.bc/" + String(repeating: "x", count: 2_035)), "https://a"]
                ),
                ("me.update", "location", [long(100), "x"]),
                ("me.update", "language_code", ["en", "pt", "de", "zh-Hant-TW", "i-klingon", "es-419", "abcdefgh"]),
                ("me.update", "phone_number", ["+1234567", "+123456789012345"]),
                ("me.update", "date_of_birth", ["1900-01-01", .string(today), "2000-02-29"]),
                ("me.update", "preferred_unit_system", ["imperial", "metric"]),
                ("me.update", "preferences", [preferences]),
                ("me.update_physical", "biological_sex", ["male", "female", "other", .null]),
                ("me.update_physical", "height_cm", [30, 300, 30.01, 299.99, .null]),
                ("me.update_physical", "date_of_birth", ["1900-01-01", .string(today), .null]),
            ]
            for (method, name, values) in good {
                for value in values {
                    let me = try await alice.call(method, JSONObject([.init(name: name, value: value)]))
                    let held = method == "me.update_physical" ? me["physical"]?[name] : me[name]
                    #expect(held == value, "\(name): \(value.text.prefix(40))")
                }
            }
        }
    }

    @Test(
        "rejects every field beyond its bounds",
        .covers("B25", "B39", "D23", "D24", "E9"))
    func beyond() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let me = try await alice.call("me.get")
            let long = { (count: Int) in JSON.string(String(repeating: "x", count: count)) }
            let bad: [(String, String, [JSON])] = [
                ("me.update", "full_name", [long(101), ""]), ("me.update", "bio", [long(501)]),
                ("me.update", "website", [.string("https://a.bc/" + String(repeating: "x", count: 2_036))]),
                ("me.update", "location", [long(101)]),
                ("me.update", "language_code", ["x", "abcdefghi", "en-abcdefghi"]),
                ("me.update", "phone_number", ["+123456", "+1234567890123456", "+0123456"]),
                ("me.update", "date_of_birth", ["1899-12-31", "9999-12-31", "2001-02-29", "1990-01-01T00:00:00Z"]),
                ("me.update", "preferences", [["k": long(16_384)]]),
                (
                    "me.update_physical", "height_cm",
                    [29.99, 300.01, 0, -170, "170", true, [170], .number(JSONNumber(30_000_000_000))]
                ),
                ("me.update_physical", "biological_sex", ["Male", "m", "", 1, "unknown"]),
                ("me.update_physical", "date_of_birth", ["1899-12-31", "9999-12-31", "2001-02-29", "today", 19900101]),
                (
                    "me.change_username", "username",
                    [.null, "ab", long(31), "1abc", "_ab", ".ab", "a-b", "a b", "häns", "ａbc", 5]
                ),
                ("me.set_avatar", "avatar_type", ["built-in", "none", "", 1]),
            ]
            for (method, name, values) in bad {
                for value in values {
                    let error = try await alice.refused(
                        .invalidParams, method, JSONObject([.init(name: name, value: value)]))
                    #expect(error?.field == name, "\(method) \(name): \(value.text.prefix(40))")
                }
            }
            for method in SampleParameters.methods where method.parameters.contains("if_version") {
                for value: JSON in [-1, "1", 1.5] {
                    let params = SampleParameters.params(of: method, with: "if_version", value)
                    try await alice.refused(.invalidParams, method.method, params, field: "if_version")
                }
            }
            #expect(try await alice.call("me.get") == me)
        }
    }

    @Test(
        "changes and pushes nothing if one field is invalid",
        .covers("C39", "D26"))
    func nothingPartly() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            for client in [alice, bob] { try await client.sync() }
            let me = try await alice.call("me.get")
            let mixed: [(String, JSONObject)] = [
                ("me.update", ["full_name": "New", "bio": "New", "phone_number": "1"]),
                ("me.update", ["preferences": ["new": 1], "date_of_birth": "1990-02-30"]),
                ("me.update", ["phone_number": "+4915112345678", "website": "http://x.example.com"]),
                ("me.update_physical", ["height_cm": 170, "biological_sex": "x"]),
                ("me.update_physical", ["date_of_birth": "1990-01-01", "height_cm": 1]),
                (
                    "me.set_avatar",
                    ["avatar_type": "custom", "avatar_url": "https://a.example.com", "avatar_id": "fox"]
                ),
            ]
            for (method, params) in mixed { try await alice.refused(.invalidParams, method, params) }
            #expect(try await alice.call("me.get") == me)
            for client in [alice, bob] {
                #expect(try await client.pushesUpTo("end", on: node.database) == [])
            }
        }
    }

    @Test(
        "no method or SQL changes another user's data",
        .covers("C37")
    )
    func ownOnly() async throws {
        try await withNode { node in
            let bob = try await node.signedIn(.bob)
            let before = try await WireTests.fingerprint(node.database)
            for method in [
                "me.update", "me.update_physical", "me.change_username", "me.set_avatar", "me.save", "me.delete",
            ] {
                for name in ["id", "user_id"] {
                    try await bob.refused(
                        .invalidParams, method, JSONObject([.init(name: name, value: .string(Person.alice.id))]),
                        field: name)
                }
            }
            for (table, change) in [
                ("user_profiles", "full_name = 'Mallory'"), ("user_profiles", "avatar_id = 'owl'"),
                ("user_private", "date_of_birth = '1990-01-01'"),
            ] {
                try await node.database.psql(
                    as: Person.bob.id, "update public.\(table) set \(change) where id = '\(Person.alice.id)'")
            }
            #expect(try await WireTests.fingerprint(node.database) == before)
            // A user can change its own row.
            try await node.database.psql(
                as: Person.bob.id, "update public.user_profiles set full_name = 'Robert' where id = '\(Person.bob.id)'")
            #expect(try await bob.call("me.get")["full_name"] == "Robert")
            // But not the columns of a trusted backend.
            for column in ["is_verified = true", "attributes = '{\"tier\":\"gold\"}'", "version = 1"] {
                await #expect(throws: (any Error).self) {
                    try await node.database.psql(
                        as: Person.bob.id, "update public.user_profiles set \(column) where id = '\(Person.bob.id)'")
                }
            }
        }
    }
}
