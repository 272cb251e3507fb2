import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("me.update", .timeLimit(.minutes(20)))
struct MeUpdateTests {
    @Test(
        "sets given fields, clears nulls and keeps absent ones",
        .covers("A12", "B10", "B11", "B24", "B25", "B38", "D4", "D5"))
    func fields() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            var before = try await alice.call("me.get")
            let values: [(String, JSON, JSON?)] = [
                ("full_name", "Ada Lovelace", nil), ("bio", "Two\nlines", .null),
                ("website", "https://ada.example.com/", .null),
                ("location", "London", .null), ("language_code", "pt-BR", .null),
                ("phone_number", "+4915112345678", .null),
                ("date_of_birth", "1815-12-10", .null), ("preferred_unit_system", "imperial", "metric"),
            ]
            for (name, value, cleared) in values where name != "date_of_birth" {
                let me = try await alice.call("me.update", JSONObject([.init(name: name, value: value)]))
                expectMe(me)
                #expect(me[name] == value)
                let changed = [name, "version", "updated_at"]
                for other in Shape.me where !changed.contains(other) {
                    #expect(me[other] == before[other], "\(name): \(other)")
                }
                #expect((me["version"]?.integerValue ?? 0) > (before["version"]?.integerValue ?? 0))
                #expect(try await alice.call("me.get") == me)
                before = me
                guard let cleared else { continue }
                before = try await alice.call("me.update", JSONObject([.init(name: name, value: .null)]))
                #expect(before[name] == cleared)
            }
            let me = try await alice.call("me.update", ["date_of_birth": "1985-12-10"])
            expectMe(me)
            #expect(me["physical"]?["date_of_birth"] == "1985-12-10")
            let cleared = try await alice.call("me.update", ["date_of_birth": .null])
            #expect(cleared["date_of_birth"] == .null)
        }
    }

    @Test("changes several fields atomically", .covers("C39", "D26"))
    func together() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let before = try await alice.call("me.get")
            let me = try await alice.call(
                "me.update", ["full_name": "Both", "bio": "at once", "phone_number": "+4915112345678"])
            #expect(me["version"]?.integerValue == (before["version"]?.integerValue ?? 0) + 1)
            try await alice.refused(
                .invalidParams, "me.update", ["full_name": "Neither", "phone_number": "12"], field: "phone_number")
            #expect(try await alice.call("me.get") == me)
        }
    }

    @Test("ignores updates without a change", .covers("B1"))
    func nothing() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let me = try await alice.call("me.get")
            #expect(try await alice.call("me.update") == me)
            #expect(try await alice.call("me.update", ["full_name": "Alice Moreau"]) == me)
            #expect(try await alice.call("me.update", ["preferences": [:]]) == me)
        }
    }

    @Test("merges preferences by key, and null removes a key", .covers("C14"))
    func preferences() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            var me = try await alice.call("me.update", ["preferences": ["lists": [1, "two", true], "theme": "light"]])
            #expect(
                me["preferences"]?.withSortedNames
                    == ["lists": [1, "two", true], "notifications": ["sound": true], "theme": "light"])
            me = try await alice.call("me.update", ["preferences": ["notifications": .null, "absent": .null]])
            #expect(me["preferences"]?.withSortedNames == ["lists": [1, "two", true], "theme": "light"])
            me = try await alice.call("me.update", ["preferences": ["nested": ["kept": .null]]])
            #expect(me["preferences"]?["nested"] == ["kept": .null])
            me = try await alice.call("me.update", ["preferences": .null])
            #expect(me["preferences"] == [:])
        }
    }

    @Test("bounds the preferences to 16 KiB")
    func largePreferences() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            try await alice.call("me.update", ["preferences": ["a": .string(String(repeating: "x", count: 15_000))]])
            let me = try await alice.call("me.get")
            try await alice.refused(
                .invalidParams, "me.update", ["preferences": ["b": .string(String(repeating: "x", count: 2_000))]],
                field: "preferences")
            try await alice.refused(
                .invalidParams, "me.update", ["preferences": ["b": .string(String(repeating: "x", count: 17_000))]],
                field: "preferences")
            #expect(try await alice.call("me.get") == me)
        }
    }

    @Test("rejects an outdated if_version with the current data")
    func versions() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let before = try await alice.call("me.get")
            let version = try #require(before["version"])
            let me = try await alice.call("me.update", ["bio": "first", "if_version": version])
            let conflict = try await alice.refused(
                .versionConflict, "me.update", ["bio": "second", "if_version": version])
            #expect(conflict?.data["current"] == me)
            #expect(try await alice.call("me.get")["bio"] == "first")
            try await alice.refused(.invalidParams, "me.update", ["if_version": "1"], field: "if_version")
            try await alice.refused(.invalidParams, "me.update", ["if_version": -1], field: "if_version")
        }
    }

    @Test("performs one of two concurrent changes of a version")
    func race() async throws {
        try await withNode { node in
            let one = try await node.signedIn(.alice)
            let other = try await node.signedIn(.alice)
            for _ in 0..<10 {
                let version = try #require(try await one.call("me.get")["version"])
                async let first = outcome(of: one, ["bio": "one \(version.text)", "if_version": version])
                async let second = outcome(of: other, ["bio": "other \(version.text)", "if_version": version])
                #expect(try await [first, second].sorted() == ["done", "version_conflict"])
            }
        }
    }

    private func outcome(of client: TestClient, _ params: JSONObject) async throws -> String {
        do {
            try await client.call("me.update", params)
            return "done"
        } catch let error as RemoteError {
            return error.code
        }
    }

    @Test("suggests the canonical name for another spelling of a field", .covers("B37", "B38"))
    func spellings() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let me = try await alice.call("me.get")
            let spellings = [
                "phone": "phone_number", "phoneNumber": "phone_number", "displayName": "full_name", "name": "full_name",
                "preferredLanguage": "language_code", "language": "language_code", "birthdate": "date_of_birth",
                "birthday": "date_of_birth", "fullName": "full_name", "prefrences": "preferences",
            ]
            for (wrong, right) in spellings {
                let error = try await alice.refused(
                    .invalidParams, "me.update",
                    JSONObject([.init(name: wrong, value: "x"), .init(name: "bio", value: "x")]),
                    field: wrong)
                #expect(error?.data["suggestion"]?.stringValue == right, "\(wrong)")
            }
            // Fields of other methods, and fields that cannot be changed, are refused here.
            for name in [
                "username", "email", "avatar_url", "photoURL", "profilePicture", "profile_picture_url", "avatar_type",
                "attributes", "is_verified", "version", "id", "height_cm",
            ] {
                try await alice.refused(
                    .invalidParams, "me.update", JSONObject([.init(name: name, value: "x")]), field: name)
            }
            for name in ["photoURL", "profilePicture", "profilePictureUrl", "profile_picture"] {
                let error = try await alice.refused(
                    .invalidParams, "me.update", JSONObject([.init(name: name, value: "x")]), field: name)
                #expect(error?.data["suggestion"] == "avatar_url" && error?.data["method"] == "me.set_avatar")
                #expect(
                    error?.message
                        == "\"me.update\" takes no \"\(name)\": did you mean \"avatar_url\" of \"me.set_avatar\"?")
            }
            #expect(try await alice.call("me.get") == me)
        }
    }

    @Test("row 48: normalizes names to NFC and trims them")
    func normalised() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let me = try await alice.call(
                "me.update", ["full_name": "\u{A0} Zoe\u{308} Fran\u{63}\u{327}ois \n", "location": "\tA\u{30A}s "])
            #expect(me["full_name"] == "Zo\u{EB} Fran\u{E7}ois")
            #expect(me["location"] == "\u{C5}s")
        }
    }

    @Test(
        "row 48: rejects invalid fields by name, also control characters",
        .covers("D4", "D23", "D24"))
    func rules() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let me = try await alice.call("me.get")
            let bad: [(String, [JSON])] = [
                ("full_name", [.null, "", "   ", "\u{200B}", 5, ["x"], .string(String(repeating: "x", count: 101))]),
                ("bio", [.string(String(repeating: "x", count: 501)), 5, "a\u{202E}b", "a\u{1B}[2Jb"]),
                (
                    "website",
                    ["http://example.com", "javascript:alert(1)", "https://", "example.com", "https://a b.c", true]
                ),
                ("location", [.string(String(repeating: "x", count: 101)), "a\u{2066}b", "a\u{1}b"]),
                ("language_code", ["", "english!", "e", "de__DE", "de_", "a-a-a", "de@!", 1]),
                ("phone_number", ["0151123", "+0123456", "+49 151 12345", "phone", "+1234567890123456", 491511234567]),
                (
                    "date_of_birth",
                    ["1985-13-01", "1985-02-30", "10.12.1985", "1985-1-1", "2999-01-01", "1815-12-10", "", 1985]
                ),
                ("preferred_unit_system", ["Metric", "us", "", 1]),
                ("preferences", ["x", [1], 1, true]),
            ]
            for (name, values) in bad {
                for value in values {
                    let error = try await alice.refused(
                        .invalidParams, "me.update", JSONObject([.init(name: name, value: value)]))
                    #expect(error?.field == name, "\(name): \(value.text)")
                }
            }
            for scalar in [
                "\u{202A}", "\u{202E}", "\u{2066}", "\u{2069}", "\u{85}", "\u{9F}", "\u{7F}", "\u{1}", "\u{1F}",
            ] {
                try await alice.refused(.invalidParams, "me.update", ["full_name": "a\(scalar)b"], field: "full_name")
            }
            #expect(try await alice.call("me.get") == me)
        }
    }

    @Test("has inclusive bounds in code points")
    func bounds() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let params: JSONObject = [
                "full_name": .string(String(repeating: "😀", count: 100)),
                "bio": .string(String(repeating: "é", count: 500)),
                "location": .string(String(repeating: "ß", count: 100)),
                "website": .string("https://a.bc/" + String(repeating: "x", count: 2_035)),
            ]
            let me = try await alice.call("me.update", params)
            for member in params.members { #expect(me[member.name] == member.value) }
            try await alice.refused(
                .invalidParams, "me.update",
                ["website": .string("https://a.bc/" + String(repeating: "x", count: 2_036))],
                field: "website")
        }
    }

    @Test("changes only the caller's own profile", .covers("C37"))
    func own() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let bob = try await node.signedIn(.bob)
            let before = try await bob.call("me.get")
            for name in ["id", "user_id", "profile_id", "username"] {
                let named = JSON.string(name == "username" ? "bob" : Person.bob.id)
                try await alice.refused(
                    .invalidParams, "me.update",
                    JSONObject([.init(name: "full_name", value: "Changed"), .init(name: name, value: named)]),
                    field: name)
            }
            try await node.database.psql(
                as: Person.alice.id,
                "update public.user_profiles set full_name = 'Changed' where id = '\(Person.bob.id)'")
            #expect(try await alice.call("me.get")["full_name"] == "Alice Moreau")
            // All rows are her own.
            try await node.database.psql(as: Person.alice.id, "update public.user_profiles set full_name = 'Changed'")
            #expect(try await alice.call("me.get")["full_name"] == "Changed")
            #expect(try await bob.call("me.get") == before)
        }
    }
}

extension JSON {
    /// The object with sorted members, since jsonb has its own order.
    var withSortedNames: JSON {
        guard case .object(let object) = self else { return self }
        return .object(JSONObject(object.members.sorted { $0.name < $1.name }))
    }
}
