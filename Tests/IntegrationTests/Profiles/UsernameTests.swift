import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("me.change_username", .timeLimit(.minutes(20)))
struct UsernameTests {
    private static func name(_ name: String) -> JSONObject { ["username": .string(name)] }

    @Test(
        "the first username starts no cooldown",
        .covers("B4", "B26"))
    func first() async throws {
        try await withNode { node in
            let sam = try await node.stranger("Sam")
            let first = try await sam.call("me.change_username", Self.name("sam"))
            expectMe(first)
            #expect(first["username"] == "sam")
            #expect(first["username_change_count"] == 0)
            #expect(first["username_changed_at"] == .null && first["username_change_allowed_at"] == .null)
            #expect(try await sam.call("me.change_username", Self.name("SAM")) == first)
            #expect(try await node.database.value("select count(*) from public.username_history") == "0")
            #expect(try await sam.call("me.change_username", Self.name("samuel"))["username"] == "samuel")
        }
    }

    @Test(
        "records a change and allows the next after 90 days",
        .covers("B2", "B4", "B6", "B7", "B26"))
    func cooldown() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let me = try await alice.call("me.change_username", Self.name("alice.moreau"))
            expectMe(me)
            #expect(me["username_change_count"] == 1)
            expectTimestamp(me["username_changed_at"])
            expectTimestamp(me["username_change_allowed_at"])
            #expect(
                try await node.database.value(
                    """
                    select old_username || ' ' || new_username || ' ' || (held_until - changed_at) from public.username_history
                     where user_id = '\(Person.alice.id)'
                    """) == "alice alice.moreau 120 days")
            for wanted in ["other.name", "alice"] {
                let error = try await alice.refused(.usernameCooldown, "me.change_username", Self.name(wanted))
                #expect(error?.data["retry_at"] == me["username_change_allowed_at"])
            }
            try await node.database.setClock(ahead: "89 days")
            try await alice.refused(.usernameCooldown, "me.change_username", Self.name("other.name"))
            #expect(try await alice.call("me.get") == me)
            try await node.database.setClock(ahead: "90 days 1 minute")
            let again = try await alice.call("me.change_username", Self.name("other.name"))
            #expect(again["username_change_count"] == 2)
            #expect(try await node.database.value("select count(*) from public.username_history") == "2")
        }
    }

    @Test(
        "reserves the old name for 120 days",
        .covers("B5"))
    func held() async throws {
        try await withNode { node in
            try await node.signedIn(.alice).call("me.change_username", Self.name("moreau"))
            let bob = try await node.signedIn(.bob)
            for ahead in ["0", "91 days", "119 days 23 hours"] {
                try await node.database.setClock(ahead: ahead)
                for wanted in ["alice", "ALICE"] {
                    let error = try await bob.refused(.usernameTaken, "me.change_username", Self.name(wanted))
                    #expect(error?.field == "username")
                }
                try await node.connect().refused(
                    .usernameTaken, "auth.register",
                    ["email": "n@example.com", "password": "longenough", "full_name": "N", "username": "alice"])
            }
            let alice = try await node.signedIn(.alice)
            #expect(try await alice.call("me.change_username", Self.name("Alice"))["username"] == "alice")
            // Now the other one is reserved.
            try await bob.refused(.usernameTaken, "me.change_username", Self.name("moreau"))
            try await node.database.setClock(ahead: "241 days")
            #expect(try await bob.call("me.change_username", Self.name("moreau"))["username"] == "moreau")
        }
    }

    @Test("answers taken and reserved names identically")
    func toldApartByNothing() async throws {
        try await withNode { node in
            try await node.signedIn(.alice).call("me.change_username", Self.name("moreau"))
            let bob = try await node.signedIn(.bob)
            let held = try await bob.answerText("me.change_username", .object(Self.name("alice")))
            #expect(try await bob.answerText("me.change_username", .object(Self.name("moreau"))) == held)
        }
    }

    @Test("row 48: usernames are ASCII and unique in any case", .covers("B5"))
    func folded() async throws {
        try await withNode { node in
            let bob = try await node.signedIn(.bob)
            for taken in ["alice", "ALICE", "aLiCe", "  alice "] {
                try await bob.refused(.usernameTaken, "me.change_username", Self.name(taken))
            }
            // Letters that look alike, that fold to ASCII, or that join with it.
            for foreign in [
                "аlice", "ａlice", "al\u{131}ce", "AL\u{130}CE", "\u{212A}arl", "alice\u{301}", "al\u{200B}ice",
                "ali\u{202E}ce",
            ] {
                try await bob.refused(.invalidParams, "me.change_username", Self.name(foreign), field: "username")
            }
            #expect(try await bob.call("me.change_username", Self.name("Bob.O_K4"))["username"] == "bob.o_k4")
            let alice = try await node.signedIn(.alice)
            #expect(try await alice.call("profiles.get", Self.name("BOB.O_K4"))["id"]?.stringValue == Person.bob.id)
        }
    }

    @Test(
        "gives a contested name to one user, without cost to others",
        .covers("B5"))
    func race() async throws {
        try await withTwoNodes(NodeSettings(poolSize: 6)) { one, other in
            let people = Person.allCases
            let outcomes = try await concurrentOutcomes(people.indices) { index in
                let client = try await (index.isMultiple(of: 2) ? one : other).signedIn(people[index])
                do {
                    try await client.call("me.change_username", Self.name(index < 3 ? "the.one" : "The.One"))
                } catch {
                    #expect(try await client.call("me.get")["username_changed_at"] == .null)
                    throw error
                }
            }
            #expect(outcomes == ["done"] + Array(repeating: "username_taken", count: 5))
            #expect(
                try await one.database.value("select count(*) from public.user_profiles where username = 'the.one'")
                    == "1")
        }
    }

    @Test("reserves a name that is claimed while it is released", .covers("B5"))
    func claimedMeanwhile() async throws {
        try await withTwoNodes { one, other in
            let alice = try await one.signedIn(.alice)
            let claimants = try await [Person.bob, .carol, .dave].asyncMap { try await other.signedIn($0) }
            let outcomes = try await concurrentOutcomes(0..<4) { number in
                if number == 0 {
                    try await alice.call("me.change_username", Self.name("moreau"))
                } else {
                    try await claimants[number - 1].call("me.change_username", Self.name("alice"))
                }
            }
            #expect(outcomes == ["done"] + Array(repeating: "username_taken", count: 3))
        }
    }

    @Test("SQL follows the same username rules", .covers("B4"))
    func sql() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let change = "update public.user_profiles set username = '%' where id = '\(Person.alice.id)'"
            try await node.database.psql(as: Person.alice.id, change.replacing("%", with: "Moreau"))
            let me = try await alice.call("me.get")
            #expect(me["username"] == "moreau" && me["username_change_count"] == 1)
            for wanted in ["again", "bob", "not a name"] {
                await #expect(throws: (any Error).self) {
                    try await node.database.psql(as: Person.alice.id, change.replacing("%", with: wanted))
                }
                await #expect(throws: (any Error).self) {
                    try await node.database.psql(change.replacing("%", with: wanted))
                }
            }
            // Only the owner can change the clock.
            await #expect(throws: (any Error).self) {
                try await node.database.psql(
                    as: Person.alice.id, "insert into app.settings values ('clock_offset', '1 year')")
            }
            #expect(try await alice.call("me.get") == me)
        }
    }
}
