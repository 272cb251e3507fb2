import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("avatars.list", .timeLimit(.minutes(20)))
struct AvatarsTests {
    @Test("lists the catalogue without sign-in", .covers("C2"))
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
            for id in ["fox", "blue_circle", "red_circle", "green_circle"] {
                #expect(avatars.contains { $0["id"]?.stringValue == id }, "\(id)")
            }
            let alice = try await node.signedIn(.alice)
            #expect(try await alice.call("avatars.list") == answer)
            try await anybody.refused(.invalidParams, "avatars.list", ["limit": 1], field: "limit")
        }
    }

    @Test(
        "the SQL of docs/media.md replaces the catalogue, repeatably",
        .covers("C2")
    )
    func ownSet() async throws {
        let sql = try Repository.sql(of: "docs/media.md")
        for role in ["none", "service_role"] {
            try await withNode { node in
                let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
                try await bob.sync()
                let before = try await alice.call("me.get")
                for _ in 0..<2 { try await node.database.psql("set role \(role); \(sql)") }
                let avatars = try await alice.call("avatars.list")["avatars"]?.arrayValue ?? []
                #expect(avatars.map { $0["id"] } == ["comet", "tulip", "anchor"])
                for avatar in avatars { expectShape(avatar, ["id", "name", "color"]) }
                // Her avatar was removed, and everyone sees the new one. Carol keeps her photo, and Frank has none.
                #expect(before["avatar_id"] == "fox")
                try await bob.follow("her new avatar") { $0.profiles[Person.alice.id]?["avatar_id"] == "comet" }
                let faces = try await node.database.column(
                    "select coalesce(avatar_id, avatar_type, 'none') from public.user_profiles order by username")
                #expect(faces == ["comet", "comet", "custom", "comet", "comet", "none"])
                let tulip: JSONObject = ["avatar_type": "built_in", "avatar_id": "tulip"]
                #expect(try await alice.call("me.set_avatar", tulip)["avatar_id"] == "tulip")
                try await alice.refused(
                    .invalidParams, "me.set_avatar", ["avatar_type": "built_in", "avatar_id": "fox"],
                    field: "avatar_id")
                // Avatars chosen from the set remain after the next run.
                try await node.database.psql(sql)
                #expect(try await alice.call("me.get")["avatar_id"] == "tulip")
            }
        }
    }

    @Test("users cannot change the catalogue", .covers("C2"))
    func readOnly() async throws {
        try await withNode { node in
            let before = try await node.connect().call("avatars.list")
            for sql in [
                "insert into public.built_in_avatars values ('mine', 'Mine', '#000000')",
                "update public.built_in_avatars set name = 'Mine'", "delete from public.built_in_avatars",
            ] {
                await #expect(throws: (any Error).self, "\(sql)") {
                    try await node.database.psql(as: Person.alice.id, sql)
                }
            }
            #expect(try await node.connect().call("avatars.list") == before)
        }
    }
}
