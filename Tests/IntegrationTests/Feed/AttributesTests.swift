@testable import LineClient
@testable import Messaging
import TestSupport
import Testing
@testable import WireProtocol

@Suite("User attributes set by a trusted backend", .timeLimit(.minutes(20)))
struct AttributesTests {
    /// The attributes of the source documents.
    private static let attributes: JSON = [
        "averageRating": 4.8, "totalRatings": 12, "isCreator": true, "creatorTier": "gold", "subscriptionType": "pro",
        "activeListings": 3, "totalReviews": 7,
    ]

    private static func writing(_ attributes: JSON, of person: Person) -> String {
        "update public.user_profiles set attributes = '\(attributes.text)' where id = '\(person.id)'"
    }

    @Test("attributes reach the user and all who see the profile", .covers("B22"))
    func pushed() async throws {
        try await withTwoNodes { one, other in
            let frank = [try await one.signedIn(.frank), try await other.signedIn(.frank)]
            // Frank is only in the book club, with Erin and Alice.
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
                // Anyone who requests the profile sees it.
                let asked = try await client.call("profiles.get", ["username": "frank"])
                #expect(asked["attributes"]?["creatorTier"] == "gold")
            }
            // A client that was offline gets it with its cursor, and a removal reaches everyone.
            let cursor = await contacts[0].cursor
            await contacts[0].close()
            try await one.database.psqlAsBackend(Self.writing([:], of: .frank))
            let delta = try await other.signedIn(.erin).sync(from: cursor)
            #expect(delta[0]["profiles"]?.arrayValue?.map { $0["attributes"] } == [[:]])
            try await frank[1].follow("the end of it") { $0.me?["attributes"] == [:] }
        }
    }

    @Test("attributes move the version, and are in every response", .covers("B22"))
    func answered() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let before = try await alice.call("me.get")
            try await node.database.psqlAsBackend(Self.writing(Self.attributes, of: .alice))
            let me = try await alice.call("me.get")
            #expect(me["version"]?.integerValue == (before["version"]?.integerValue ?? 0) + 1)
            // A client with an older version is refused, and its own changes do not affect attributes.
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
        "only a backend can write attributes",
        .covers("B22"))
    func writtenByBackends() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let before = try await WireTests.fingerprint(node.database)
            for method in ["me.update", "me.update_physical", "me.set_avatar", "me.change_username", "me.save"] {
                let operation = try #require(SampleParameters.methods.first { $0.method == method })
                let params = (SampleParameters.params(of: operation) ?? [:]).members
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
            // At the maximum size, and not above.
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
