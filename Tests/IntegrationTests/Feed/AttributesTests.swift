import LineClient
import TestSupport
import Testing

@testable import Messaging

@Suite("User attributes set by a trusted backend", .timeLimit(.minutes(60)))
struct AttributesTests {
    /// The attributes of the source documents.
    private static let attributes: JSON = [
        "averageRating": 4.8, "totalRatings": 12, "isCreator": true, "creatorTier": "gold", "subscriptionType": "pro",
        "activeListings": 3, "totalReviews": 7,
    ]

    private static func writing(_ attributes: JSON, of person: Person) -> String {
        "update public.user_profiles set attributes = '\(attributes.text)' where id = '\(person.id)'"
    }

    @Test(
        "is pushed to the user and to everyone who sees the profile, on every node, and to nobody else", .covers("B22"))
    func pushed() async throws {
        try await withTwoNodes { one, other in
            let frank = [try await one.signedIn(.frank), try await other.signedIn(.frank)]
            // Frank is in the book club alone, with Erin and Alice.
            let contacts = [try await one.signedIn(.erin), try await other.signedIn(.alice)]
            let others = [try await one.signedIn(.bob), try await other.signedIn(.carol), try await other.stranger()]
            for client in frank + contacts + others { try await client.sync() }
            try await one.database.psqlAsBackend(Self.writing(Self.attributes, of: .frank))
            for client in frank {
                let changes = try await client.nextChanges()
                #expect(changes.names == ["cursor", "reset", "more", "me"])
                #expect(changes["me"]?["attributes"]?.withSortedNames == Self.attributes.withSortedNames)
            }
            for client in contacts {
                let changes = try await client.nextChanges()
                #expect(changes.names == ["cursor", "reset", "more", "profiles"])
                #expect(changes["profiles"]?[0]?["id"]?.stringValue == Person.frank.id)
                #expect(changes["profiles"]?[0]?["attributes"]?.withSortedNames == Self.attributes.withSortedNames)
            }
            for client in others {
                #expect(try await client.pushesUpTo("end", on: one.database) == [])
                // Whoever asks for the profile sees it.
                let asked = try await client.call("profiles.get", ["username": "frank"])
                #expect(asked["attributes"]?["creatorTier"] == "gold")
            }
            // One who was away has it from the cursor on, and what is taken back is taken back everywhere.
            let cursor = await contacts[0].cursor
            await contacts[0].close()
            try await one.database.psqlAsBackend(Self.writing([:], of: .frank))
            let delta = try await other.signedIn(.erin).sync(from: cursor)
            #expect(delta[0]["profiles"]?.arrayValue?.map { $0["attributes"] } == [[:]])
            try await frank[1].follow("the end of it") { $0.me?["attributes"] == [:] }
        }
    }

    @Test("moves the version by one, and is there in each answer that has the user", .covers("B22"))
    func answered() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let before = try await alice.call("me.get")
            try await node.database.psqlAsBackend(Self.writing(Self.attributes, of: .alice))
            let me = try await alice.call("me.get")
            #expect(me["version"]?.integerValue == (before["version"]?.integerValue ?? 0) + 1)
            // A client that knew the version before is told, and no change of its own touches them.
            try await alice.refused(
                .versionConflict, "me.save", ["bio": "mine", "if_version": before["version"] ?? .null])
            let saved = try await alice.call("me.save", ["bio": "mine", "if_version": me["version"] ?? .null])
            #expect(saved["attributes"]?.withSortedNames == Self.attributes.withSortedNames)
            let bob = try await node.signedIn(.bob)
            let open = try await bob.call(
                "conversations.open", ["user_id": .string(Person.alice.id), "profiles": true])
            for answer in [open, try await bob.call("conversations.list"), try await bob.sync(live: false)[0]] {
                let profile = answer["profiles"]?.arrayValue?.first { $0["id"]?.stringValue == Person.alice.id }
                #expect(profile?["attributes"] == saved["attributes"])
            }
        }
    }

    @Test(
        "is written by no user, of itself or of others, by no method and by no SQL; a backend's write is done",
        .covers("B22"))
    func writtenByBackends() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let before = try await WireTests.fingerprint(node.database)
            for method in ["me.update", "me.update_physical", "me.set_avatar", "me.change_username", "me.save"] {
                let operation = try #require(Probe.methods.first { $0.method == method })
                let params = (Probe.params(of: operation) ?? [:]).members
                try await alice.refused(
                    .invalidParams, method,
                    JSONObject(params + [.init(name: "attributes", value: Self.attributes)]), field: "attributes")
            }
            for person in [Person.alice, .bob] {
                let refused = Self.writing(Self.attributes, of: person)
                await #expect(throws: (any Error).self) {
                    try await node.database.psql(as: Person.alice.id, refused)
                }
            }
            #expect(try await WireTests.fingerprint(node.database) == before)
            try await node.database.psqlAsBackend(Self.writing(Self.attributes, of: .alice))
            #expect(try await alice.call("me.get")["attributes"]?["creatorTier"] == "gold")
            // As large as it may be, and no larger.
            let most: JSON = ["a": .string(String(repeating: "x", count: 32_768 - #"{"a": ""}"#.utf8.count))]
            try await node.database.psqlAsBackend(Self.writing(most, of: .alice))
            let tooMuch: JSON = ["a": .string(String(repeating: "x", count: 32_768))]
            await #expect(throws: (any Error).self) {
                try await node.database.psqlAsBackend(Self.writing(tooMuch, of: .alice))
            }
            #expect(try await alice.call("me.get")["attributes"] == most)
        }
    }
}
