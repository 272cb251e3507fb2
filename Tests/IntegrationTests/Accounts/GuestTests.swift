import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("auth.guest and auth.upgrade", .timeLimit(.minutes(20)))
struct GuestTests {
    private static func account(_ email: String) -> JSONObject {
        ["email": .string(email), "password": .string(TestNode.password)]
    }

    @Test("creates a guest that search does not find", .covers("E1", "E14"))
    func guest() async throws {
        try await withNode { node in
            let client = try await node.connect()
            let tokens = try await client.becomeGuest("Gwen Visitor")
            expectShape(tokens, Shape.tokens)
            #expect(tokens["is_guest"] == true)
            let me = try await client.call("me.get")
            expectMe(me)
            #expect(me["id"] == tokens["user_id"])
            #expect(me["is_guest"] == true)
            #expect(me["full_name"] == "Gwen Visitor")
            #expect(me["email"] == .null)
            #expect(try await node.guest().call("me.get")["full_name"] == .null)
            let alice = try await node.signedIn(.alice)
            #expect(try await alice.call("profiles.search", ["query": "Gwen Visitor"])["profiles"] == [])
        }
    }

    @Test("rejects an invalid name and a signed-in connection")
    func refusedGuests() async throws {
        try await withNode { node in
            let client = try await node.connect()
            for name: JSON in [" ", "a\u{202E}b", .string(String(repeating: "n", count: 101)), 5] {
                try await client.refused(.invalidParams, "auth.guest", ["full_name": name], field: "full_name")
            }
            try await client.refused(.unauthenticated, "me.get")
            try await node.signedIn(.alice).refused(.invalidRequest, "auth.guest")
            #expect(try await node.database.value("select count(*) from auth.users") == "6")
        }
    }

    @Test(
        "keeps id, conversations and data on upgrade",
        .covers("E5", "E14"))
    func upgrade() async throws {
        try await withTwoNodes { one, other in
            let guest = try await one.connect()
            let tokens = try await guest.becomeGuest("Gwen")
            let room = try await guest.conversation(with: Person.alice.id)
            let sent = try await guest.send("from a guest", to: room)
            let before = try await guest.call(
                "me.update", ["date_of_birth": "2000-02-29", "preferences": ["theme": "sea"]])
            let elsewhere = try await other.signedIn(with: tokens)
            let alice = try await other.signedIn(.alice)
            for client in [elsewhere, alice] { try await client.sync() }

            let upgraded = try await guest.call(
                "auth.upgrade",
                JSONObject(Self.account("Gwen@Example.com").members + [.init(name: "full_name", value: "Gwen Full")]))
            expectShape(upgraded, Shape.tokens)
            #expect(upgraded["user_id"] == tokens["user_id"])
            #expect(upgraded["is_guest"] == false)

            let me = try await guest.call("me.get")
            expectMe(me)
            #expect(me["is_guest"] == false)
            #expect(me["email"] == "gwen@example.com")
            #expect(me["full_name"] == "Gwen Full")
            for name in Shape.me where !["is_guest", "email", "full_name", "version", "updated_at"].contains(name) {
                #expect(me[name] == before[name], "\(name)")
            }
            #expect(
                try await guest.call("messages.list", ["conversation_id": .string(room)])["messages"]?[0]?["id"]
                    == sent["id"])
            try await elsewhere.follow { $0.me == me }
            let id = await guest.userID
            try await alice.follow {
                $0.profiles[id]?["is_guest"] == false && $0.profiles[id]?["full_name"] == "Gwen Full"
            }

            let again = try await other.connect()
            #expect(try await again.logIn("gwen@example.com")["user_id"] == tokens["user_id"])
            #expect(try await again.call("me.get") == me)
        }
    }

    @Test("rejects an upgrade with a taken address or invalid params")
    func refusedUpgrades() async throws {
        try await withNode { node in
            let guest = try await node.guest("Gwen")
            let before = try await WireTests.fingerprint(node.database)
            let taken = try await guest.refused(.emailTaken, "auth.upgrade", Self.account("ALICE@example.com"))
            #expect(taken?.field == "email")
            for (name, value) in [("email", "no address"), ("password", "short"), ("full_name", " ")] {
                let good = Self.account("gwen@example.com").members.filter { $0.name != name }
                try await guest.refused(
                    .invalidParams, "auth.upgrade", JSONObject(good + [.init(name: name, value: .string(value))]),
                    field: name)
            }
            try await node.connect().refused(.unauthenticated, "auth.upgrade", Self.account("gwen@example.com"))
            #expect(try await WireTests.fingerprint(node.database) == before)
            #expect(try await guest.call("me.get")["is_guest"] == true)
        }
    }

    @Test("forbids the upgrade of a full account")
    func fullAccount() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            try await alice.refused(.forbidden, "auth.upgrade", Self.account("other@example.com"))
            #expect(try await alice.call("me.get")["email"] == "alice@example.com")
            try await node.connect().refused(.invalidCredentials, "auth.login", Self.account("other@example.com"))
            try await node.connect().signIn(.alice)
        }
    }

    @Test("row 49: upgrades once if raced from two nodes")
    func raced() async throws {
        try await withTwoNodes { one, other in
            let tokens = try await one.connect().becomeGuest("Gwen")
            let outcomes = try await concurrentOutcomes(0..<6) { number in
                let client = try await (number.isMultiple(of: 2) ? one : other).signedIn(with: tokens)
                try await client.call("auth.upgrade", Self.account("gwen\(number)@example.com"))
            }
            #expect(outcomes == ["done"] + Array(repeating: "forbidden", count: 5))
            let id = tokens["user_id"]?.stringValue ?? ""
            let address = try #require(try await one.database.value("select email from auth.users where id = '\(id)'"))
            #expect(try await one.connect().logIn(address)["user_id"]?.stringValue == id)
            #expect(
                try await one.database.value("select count(*) from auth.users where email like 'gwen%'") == "1")
        }
    }

    @Test("row 49: gives a contested address to one guest")
    func racedAddress() async throws {
        try await withTwoNodes { one, other in
            let outcomes = try await concurrentOutcomes(0..<6) { number in
                let guest = try await (number.isMultiple(of: 2) ? one : other).guest()
                do {
                    try await guest.call("auth.upgrade", Self.account("one@example.com"))
                } catch {
                    #expect(try await guest.call("me.get")["is_guest"] == true)
                    throw error
                }
            }
            #expect(outcomes == ["done"] + Array(repeating: "email_taken", count: 5))
        }
    }

    @Test(
        "row 49: keeps an upgrade whose answer was lost",
        .covers("E19"))
    func retried() async throws {
        try await withTwoNodes { one, other in
            let cut = try await one.connect()
            let tokens = try await cut.becomeGuest("Gwen")
            try await cut.line.send(
                line:
                    #"{"jsonrpc":"2.0","id":"x","method":"auth.upgrade","params":\#(JSON.object(Self.account("gwen@example.com")).text)}"#
            )
            try await one.database.wait(
                for: "select count(*) from auth.users where email = 'gwen@example.com'", toBe: "1")
            await cut.close()
            let again = try await other.signedIn(with: tokens)
            try await again.refused(.forbidden, "auth.upgrade", Self.account("gwen@example.com"))
            let signedIn = try await other.connect()
            #expect(try await signedIn.logIn("gwen@example.com")["user_id"] == tokens["user_id"])
            #expect(try await signedIn.call("me.get")["full_name"] == "Gwen")
        }
    }
}
