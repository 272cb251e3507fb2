import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("Merge of a guest on auth.login", .timeLimit(.minutes(20)))
struct MergeTests {
    private static func params(_ person: Person, _ guest: JSON) -> JSONObject {
        [
            "email": .string(person.email), "password": .string(TestNode.password),
            "guest_refresh_token": guest["refresh_token"] ?? "",
        ]
    }

    @Test(
        "keeps the account's values and adds missing ones",
        .covers("E5"))
    func values() async throws {
        try await withTwoNodes { one, other in
            let guest = try await one.connect()
            let tokens = try await guest.becomeGuest("Gwen")
            try await guest.call(
                "me.update",
                [
                    "bio": "a guest's", "date_of_birth": "2000-02-29", "phone_number": "+4915112345678",
                    "preferences": ["theme": "light", "font": "large"],
                ])
            try await guest.call("me.update_physical", ["height_cm": 170.5, "biological_sex": "other"])
            try await guest.call("me.set_avatar", ["avatar_type": "built_in", "avatar_id": "bee"])
            let live = try await other.signedIn(.alice)
            try await live.sync()
            let before = try await live.call("me.get")

            let alice = try await one.connect()
            let merged = try await alice.call("auth.login", Self.params(.alice, tokens))
            expectShape(merged, Shape.tokens + ["merged"])
            #expect(merged["merged"] == ["conversations": 0, "messages": 0])
            #expect(merged["user_id"]?.stringValue == Person.alice.id)
            let me = try await alice.call("me.get")
            expectMe(me)
            for name in Shape.me where !["preferences", "physical", "version", "updated_at"].contains(name) {
                #expect(me[name] == before[name], "\(name)")
            }
            #expect(
                me["preferences"]?.withSortedNames
                    == ["font": "large", "notifications": ["sound": true], "theme": "dark"])
            #expect(
                me["physical"] == ["biological_sex": "other", "height_cm": 170.5, "date_of_birth": "1991-04-17"])
            try await live.follow { $0.me == me }

            // The guest's data, sessions and connections are gone.
            try await guest.expectEnd()
            let gone = try await alice.call("profiles.get", ["ids": [.string(guest.userID)]])["profiles"]?[0]
            #expect(gone?["is_deleted"] == true)
            for name in ["username", "full_name", "bio", "avatar_type", "avatar_id"] { #expect(gone?[name] == .null) }
            try await one.connect().refused(
                .sessionRevoked, "auth.refresh", ["refresh_token": tokens["refresh_token"] ?? ""])
            #expect(
                try await one.database.value(
                    "select num_nonnulls(date_of_birth, phone_number, height_cm, biological_sex) || ' ' || preferences from public.user_private where id = '\(guest.userID)'"
                ) == "0 {}")
        }
    }

    @Test("copies all of the guest's data to an empty account")
    func emptyAccount() async throws {
        try await withNode { node in
            let guest = try await node.connect()
            let tokens = try await guest.becomeGuest("Gwen")
            try await guest.call("me.update", ["date_of_birth": "2000-02-29", "location": "Here"])
            try await guest.call("me.change_username", ["username": "gwen"])
            try await guest.call("me.set_avatar", ["avatar_type": "custom", "avatar_url": "https://a.example.com/g"])
            try await node.connect().register("Own Name", email: "own@example.com")
            let client = try await node.connect()
            try await client.logIn("own@example.com", guest: tokens)
            let me = try await client.call("me.get")
            expectMe(me)
            #expect(me["full_name"] == "Own Name")
            #expect(me["username"] == "gwen")
            #expect(me["date_of_birth"] == "2000-02-29")
            #expect(me["location"] == "Here")
            #expect(me["avatar_url"] == "https://a.example.com/g")
        }
    }

    @Test("moves conversations and messages, visible through pushes")
    func conversations() async throws {
        try await withTwoNodes { one, other in
            let database = one.database
            let guest = try await one.connect()
            let tokens = try await guest.becomeGuest("Gwen")
            let id = await guest.userID
            let bob = try await other.signedIn(.bob)
            let frank = try await one.signedIn(.frank)
            let alice = try await other.signedIn(.alice)

            // With Bob, who has a conversation with Alice; with Frank, who has none; and with Alice.
            let withBob = try await guest.conversation(with: Person.bob.id)
            try await guest.send("guest 1", to: withBob)
            try await bob.send("bob 2", to: withBob)
            try await guest.send("guest 3", to: withBob)
            let withFrank = try await guest.conversation(with: Person.frank.id)
            try await guest.send("hello frank", to: withFrank)
            let withAlice = try await guest.conversation(with: Person.alice.id)
            try await guest.send("to myself", to: withAlice)
            try await alice.send("from myself", to: withAlice)
            // A group of the guest, and one with both as members.
            let own = try await database.makeGroup("Of a guest", [id, Person.bob.id])
            try await guest.send("my group", to: own)
            try await database.psql(
                "insert into public.conversation_members (conversation_id, user_id, role) values ('\(Room.bookClub)', '\(id)', 'admin')"
            )
            try await guest.send("in the club", to: Room.bookClub)
            for client in [alice, bob, frank] { try await client.sync() }

            let merged = try await one.connect().logIn(Person.alice.email, guest: tokens)["merged"]
            #expect(merged == ["conversations": 4, "messages": 5])

            try await alice.follow { world in
                world.has("guest 3", in: Room.aliceBob) && world.has("hello frank", in: withFrank)
                    && world.conversations[own] != nil && world.conversations[withAlice] == nil
                    && world.messages[Room.bookClub]?.values.contains {
                        $0["content"] == "in the club" && $0["sender_id"]?.stringValue == Person.alice.id
                    } == true
            }
            try await bob.follow { world in
                world.has("guest 3", in: Room.aliceBob) && world.conversations[withBob] == nil
                    && world.messages[own]?.values.contains { $0["sender_id"]?.stringValue == Person.alice.id } == true
            }
            try await frank.follow { world in
                world.messages[withFrank]?[1]?["sender_id"]?.stringValue == Person.alice.id
                    && world.conversations[withFrank]?["members"]?.arrayValue?
                        .contains { $0["user_id"]?.stringValue == Person.alice.id } == true
            }
            for client in [alice, bob, frank] {
                _ = try await client.pushesUpTo("end", on: database)
                try await SyncOpenTests.expectEqual(client, database, newest: 20)
                let world = await client.state
                for conversation in world.conversations.values {
                    let members = conversation["members"]?.arrayValue?.compactMap { $0["user_id"]?.stringValue } ?? []
                    #expect(!members.contains(id))
                }
            }
            #expect(await alice.state.contents(Room.aliceBob).suffix(3) == ["guest 1", "bob 2", "guest 3"])
            #expect(await bob.state.contents(Room.aliceBob).suffix(3) == ["guest 1", "bob 2", "guest 3"])
            #expect(await bob.state.messages[Room.aliceBob]?[93]?["sender_id"]?.stringValue == Person.alice.id)
            // The higher role is kept in each group.
            let roles =
                "select role from public.conversation_members where user_id = '\(Person.alice.id)' and conversation_id = "
            #expect(try await database.value("\(roles)'\(own)'") == "owner")
            #expect(try await database.value("\(roles)'\(Room.bookClub)'") == "admin")
            // New messages can be sent there.
            try await frank.send("welcome", to: withFrank)
            try await alice.follow { $0.has("welcome", in: withFrank) }
        }
    }

    @Test(
        "rejects invalid guest tokens and wrong passwords"
    )
    func refused() async throws {
        try await withNode { node in
            let guest = try await node.connect()
            let tokens = try await guest.becomeGuest("Gwen")
            try await guest.send("mine", to: try await guest.conversation(with: Person.bob.id))
            let bob = try await node.connect().logIn(Person.bob.email)
            let own = try await node.connect().logIn(Person.alice.email)
            let next = try await node.connect().call("auth.refresh", ["refresh_token": tokens["refresh_token"] ?? ""])
            try await node.connect().call("auth.refresh", ["refresh_token": next["refresh_token"] ?? ""])
            let before = try await WireTests.fingerprint(node.database)
            let bad: [JSON] = [
                bob["refresh_token"] ?? "", own["refresh_token"] ?? "", tokens["refresh_token"] ?? "",
                tokens["access_token"] ?? "", "", "x", "\(nobody).0.00",
            ]
            for token in bad {
                let client = try await node.connect()
                try await client.refused(.invalidToken, "auth.login", Self.params(.alice, ["refresh_token": token]))
                try await client.refused(.unauthenticated, "me.get")
            }
            let client = try await node.connect()
            try await client.refused(
                .invalidParams, "auth.login", Self.params(.alice, ["refresh_token": 5]), field: "guest_refresh_token")
            try await client.refused(
                .invalidCredentials, "auth.login",
                ["email": "alice@example.com", "password": "wrong", "guest_refresh_token": next["refresh_token"] ?? ""])
            // The guest's own connection cannot sign in as another user.
            try await guest.refused(.invalidRequest, "auth.login", Self.params(.alice, next))
            #expect(try await WireTests.fingerprint(node.database) == before)
            #expect(try await guest.call("me.get")["is_guest"] == true)
        }
    }

    @Test(
        "row 49: repeats the answer of a merge whose answer was lost",
        .covers("E19"))
    func retried() async throws {
        try await withTwoNodes { one, other in
            let guest = try await one.connect()
            let tokens = try await guest.becomeGuest("Gwen")
            let room = try await guest.conversation(with: Person.bob.id)
            for number in 1...3 { try await guest.send("guest \(number)", to: room) }
            let cut = try await one.connect()
            try await cut.line.send(
                line:
                    #"{"jsonrpc":"2.0","id":"x","method":"auth.login","params":\#(JSON.object(Self.params(.alice, tokens)).text)}"#
            )
            try await one.database.wait(for: "select count(*) from app.merged_guests", toBe: "1")
            await cut.close()
            let alice = try await one.signedIn(.alice)
            let before = try await alice.call("messages.list", ["conversation_id": .string(Room.aliceBob)])
            for node in [other, one] {
                let merged = try await node.connect().logIn(Person.alice.email, guest: tokens)["merged"]
                #expect(merged == ["conversations": 1, "messages": 3])
            }
            #expect(try await alice.call("messages.list", ["conversation_id": .string(Room.aliceBob)]) == before)
            #expect(before["messages"]?.arrayValue?.compactMap { $0["seq"]?.integerValue }.suffix(3) == [91, 92, 93])
            // It cannot be merged into another account.
            try await one.connect().refused(.invalidToken, "auth.login", Self.params(.bob, tokens))
        }
    }

    @Test("row 49: merges once if raced from two nodes")
    func raced() async throws {
        try await withTwoNodes(NodeSettings(poolSize: 6)) { one, other in
            let guest = try await one.connect()
            let tokens = try await guest.becomeGuest("Gwen")
            let room = try await guest.conversation(with: Person.bob.id)
            for number in 1...5 { try await guest.send("guest \(number)", to: room) }
            let outcomes = try await concurrentOutcomes(0..<6) { number in
                let client = try await (number.isMultiple(of: 2) ? one : other).connect()
                let merged = try await client.logIn(Person.alice.email, guest: tokens)["merged"]
                #expect(merged == ["conversations": 1, "messages": 5])
            }
            #expect(outcomes == Array(repeating: "done", count: 6))
            let bob = try await one.signedIn(.bob)
            try await bob.sync()
            #expect(await bob.state.contents(Room.aliceBob).suffix(5) == (1...5).map { "guest \($0)" }[...])
            #expect(
                try await one.database.value("select last_seq from public.conversations where id = '\(Room.aliceBob)'")
                    == "95")
        }
    }

    @Test("row 49: merges a contested guest into one account")
    func racedAccounts() async throws {
        try await withTwoNodes { one, other in
            let guest = try await one.connect()
            let tokens = try await guest.becomeGuest("Gwen")
            try await guest.send("hello", to: try await guest.conversation(with: Person.frank.id))
            let people = [Person.bob, .dave]
            let outcomes = try await concurrentOutcomes(people.indices) { index in
                let client = try await (index == 0 ? one : other).connect()
                try await client.logIn(people[index].email, guest: tokens)
            }
            #expect(outcomes == ["done", "invalid_token"])
            #expect(try await one.database.value("select count(*) from app.merged_guests") == "1")
            #expect(
                try await one.database.value(
                    "select count(*) from public.messages m join app.merged_guests g on g.account_id = m.sender_id where m.content = 'hello'"
                ) == "1")
        }
    }

    @Test("row 49: performs one of a concurrent upgrade and merge")
    func upgradeOrMerge() async throws {
        try await withTwoNodes { one, other in
            for round in 0..<4 {
                let tokens = try await one.connect().becomeGuest("Gwen")
                let guest = try await other.signedIn(with: tokens)
                let outcomes = try await concurrentOutcomes([true, false]) { isUpgrade in
                    if isUpgrade {
                        try await guest.call(
                            "auth.upgrade",
                            ["email": "gwen\(round)@example.com", "password": .string(TestNode.password)])
                    } else {
                        try await one.connect().logIn(Person.alice.email, guest: tokens)
                    }
                }
                #expect(
                    [["done", "forbidden"], ["done", "invalid_token"], ["done", "session_revoked"]].contains(outcomes))
                let kept = try await one.database.value(
                    "select count(*) from auth.users where email = 'gwen\(round)@example.com'")
                #expect(outcomes.contains("invalid_token") == (kept == "1"))
            }
        }
    }

    @Test("row 49: loses no answered message during a merge")
    func underLoad() async throws {
        try await withTwoNodes(NodeSettings(poolSize: 6)) { one, other in
            let guest = try await one.connect()
            let tokens = try await guest.becomeGuest("Gwen")
            let room = try await guest.conversation(with: Person.bob.id)
            let bob = try await other.signedIn(.bob)
            let alice = try await other.signedIn(.alice)
            try await alice.sync()
            // Each sends until its conversation is gone, and records what was answered.
            func write(_ client: TestClient, _ name: String, to room: String) async throws -> [String] {
                var answered: [String] = []
                while answered.count < 2_000 {
                    do {
                        try await client.send("\(name) \(answered.count)", to: room)
                        answered.append("\(name) \(answered.count)")
                    } catch {
                        break
                    }
                }
                return answered
            }
            async let byGuest = write(guest, "guest", to: room)
            async let byBob = write(bob, "bob", to: room)
            try await one.database.wait(
                for: "select count(*) > 20 from public.messages where conversation_id = '\(room)'", toBe: "t")
            let merged = try await one.connect().logIn(Person.alice.email, guest: tokens)["merged"]
            let (guests, bobs) = try await (byGuest, byBob)
            let stored = try await one.database.column(
                "select content from public.messages where conversation_id = '\(Room.aliceBob)' and seq > 90 order by seq"
            ).compactMap { $0 }
            for (name, answered) in [("guest", guests), ("bob", bobs)] {
                // The last send may have been stored without an answer.
                let kept = stored.filter { $0.hasPrefix(name) }
                #expect(kept.starts(with: answered) && kept.count <= answered.count + 1)
            }
            #expect(merged?["messages"]?.integerValue == stored.count { $0.hasPrefix("guest") })
            _ = try await alice.pushesUpTo("end", on: one.database)
            try await SyncOpenTests.expectEqual(alice, one.database, newest: 20)
        }
    }

    @Test("rejects writes of the merged guest's connection")
    func afterwards() async throws {
        try await withTwoNodes { one, other in
            let guest = try await one.connect()
            let tokens = try await guest.becomeGuest("Gwen")
            let room = JSON.string(try await guest.conversation(with: Person.bob.id))
            try await other.connect().logIn(Person.alice.email, guest: tokens)
            let before = try await WireTests.fingerprint(one.database)
            let requests: [(String, JSONObject)] = [
                ("conversations.open", ["user_id": .string(Person.frank.id)]),
                ("messages.send", ["conversation_id": room, "content": "a ghost's"]),
                ("me.update", ["bio": "a ghost's"]), ("me.update_physical", ["height_cm": 170]),
                ("me.change_username", ["username": "ghost"]),
                ("auth.upgrade", ["email": "ghost@example.com", "password": .string(TestNode.password)]),
            ]
            for (method, params) in requests {
                do {
                    let answer = try await guest.call(method, params)
                    Issue.record("\(method) was answered with \(answer.text)")
                } catch is ConnectionError {
                    break
                } catch let error as RemoteError {
                    #expect(error.knownCode != .internalError, "\(method): \(error)")
                }
            }
            #expect(try await WireTests.fingerprint(one.database) == before)
            try await guest.expectEnd()
        }
    }
}
