import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("profiles.get", .timeLimit(.minutes(20)))
struct ProfilesGetTests {
    @Test("returns known profiles once, in the requested order", .covers("C19"))
    func order() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let asked: [JSON] = [Person.dave.id, nobody, Person.bob.id, Person.dave.id, Person.alice.id].map {
                .string($0)
            }
            let answer = try await alice.call("profiles.get", ["ids": .array(asked)])
            expectShape(answer, ["profiles"])
            let profiles = answer["profiles"]?.arrayValue ?? []
            for profile in profiles { expectProfile(profile) }
            #expect(profiles.map { $0["username"] } == ["dave", "bob", "alice"])
            #expect(try await alice.call("profiles.get", ["ids": [.string(nobody)]]) == ["profiles": []])
        }
    }

    @Test("finds a profile by username in any case")
    func username() async throws {
        try await withNode { node in
            let frank = try await node.signedIn(.frank)
            let bob = try await frank.call("profiles.get", ["username": "Bob"])
            expectProfile(bob)
            #expect(bob["id"]?.stringValue == Person.bob.id)
            #expect(bob["location"] == "Lagos")
            try await frank.refused(.notFound, "profiles.get", ["username": "no.such"])
            try await frank.refused(.notFound, "profiles.get", ["username": "' or true --"])
        }
    }

    @Test("profiles contain no private data")
    func noPrivateData() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            for client in [alice, try await node.signedIn(.bob)] {
                let text = try await client.answerText("profiles.get", ["ids": [.string(Person.alice.id)]])
                for secret in ["alice@example.com", "+33612345678", "1991-04-17", "sound"] {
                    #expect(!text.contains(secret))
                }
            }
        }
    }

    @Test("returns a tombstone without names for a deleted user")
    func tombstone() async throws {
        try await withNode { node in
            try await node.database.psql(
                "update public.user_profiles set is_deleted = true where id = '\(Person.bob.id)'")
            let alice = try await node.signedIn(.alice)
            let profile = try await alice.call("profiles.get", ["ids": [.string(Person.bob.id)]])["profiles"]?[0]
            expectProfile(profile)
            #expect(profile?["is_deleted"] == true)
            #expect(profile?["username"] == .null)
            #expect(profile?["full_name"] == .null)
            try await alice.refused(.notFound, "profiles.get", ["username": "bob"])
        }
    }

    @Test("requires 1 to 100 ids or a username", .covers("D24"))
    func params() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let id = JSON.string(Person.bob.id)
            try await alice.call("profiles.get", ["ids": .array(Array(repeating: id, count: 100))])
            for bad: JSON in [[], .array(Array(repeating: id, count: 101)), "x", [1], ["x"], [.null], [[id]], ["{}"]] {
                try await alice.refused(.invalidParams, "profiles.get", ["ids": bad], field: "ids")
            }
            try await alice.refused(.invalidParams, "profiles.get", field: "ids")
            try await alice.refused(
                .invalidParams, "profiles.get", ["ids": [id], "username": "bob"], field: "username")
            try await alice.refused(.invalidParams, "profiles.get", ["username": 5], field: "username")
            try await alice.refused(.invalidParams, "profiles.get", ["id": id], field: "id")
        }
    }

    @Test("accepts ids in upper case")
    func capitals() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let answer = try await alice.call("profiles.get", ["ids": [.string(Person.bob.id.uppercased())]])
            #expect(answer["profiles"]?[0]?["id"]?.stringValue == Person.bob.id)
        }
    }
}
