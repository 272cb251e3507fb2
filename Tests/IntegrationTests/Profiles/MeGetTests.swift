import LineClient
import TestSupport
import Testing
@testable import WireProtocol

@Suite("me.get", .timeLimit(.minutes(20)))
struct MeGetTests {
    @Test("returns the complete Me", .covers("A12", "B16", "B21", "C10", "D1", "D19"))
    func whole() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let me = try await alice.call("me.get")
            expectMe(me)
            #expect(me["id"]?.stringValue == Person.alice.id)
            #expect(me["username"] == "alice")
            #expect(me["full_name"] == "Alice Moreau")
            #expect(me["avatar_type"] == "built_in")
            #expect(me["avatar_id"] == "fox")
            #expect(me["avatar_url"] == .null)
            #expect(me["email"] == "alice@example.com")
            #expect(me["phone_number"] == "+33612345678")
            #expect(me["phone_verified"] == false)
            #expect(me["date_of_birth"] == "1991-04-17")
            #expect(me["preferred_unit_system"] == "metric")
            #expect(me["preferences"]?["theme"] == "dark")
            #expect(me["physical"] == ["biological_sex": .null, "height_cm": .null, "date_of_birth": "1991-04-17"])
        }
    }

    @Test(
        "returns null for unset members of a new user", .covers("B16", "B21", "C10"))
    func new() async throws {
        try await withNode { node in
            let me = try await node.stranger("New").call("me.get")
            expectMe(me)
            for name in ["username", "bio", "avatar_type", "avatar_id", "avatar_url", "phone_number", "date_of_birth"] {
                #expect(me[name] == .null, "\(name)")
            }
            #expect(me["preferences"] == [:])
            #expect(me["attributes"] == [:])
        }
    }

    @Test("me.get rejects params")
    func params() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            try await alice.refused(.invalidParams, "me.get", ["id": .string(Person.bob.id)], field: "id")
        }
    }
}
