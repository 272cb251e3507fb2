import LineClient
import Messaging
import Requirements
import Testing

@Suite("avatars.list", .timeLimit(.minutes(60)))
struct AvatarsTests {
    @Test("gives the catalogue to anybody, signed in or not", .covers("C2"))
    func catalogue() async throws {
        try await withNode { node in
            let anybody = try await node.connect()
            let answer = try await anybody.call("avatars.list")
            expectShape(answer, ["avatars"])
            let avatars = answer["avatars"]?.arrayValue ?? []
            #expect(
                avatars.count.description
                    == (try await node.database.value("select count(*) from public.built_in_avatars")))
            for avatar in avatars { expectShape(avatar, ["id", "name", "color"]) }
            #expect(avatars.contains { $0["id"] == "fox" })
            let alice = try await node.signedIn(.alice)
            #expect(try await alice.call("avatars.list") == answer)
            try await anybody.refused(.invalidParams, "avatars.list", ["limit": 1], field: "limit")
        }
    }
}
