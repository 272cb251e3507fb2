import LineClient
import Testing
import WireProtocol

@Suite("Reports and moderation", .timeLimit(.minutes(10)))
struct ReportTests {
    /// Makes Carol a moderator, and returns a client of hers.
    private static func moderator(_ node: TestNode) async throws -> TestClient {
        try await node.database.psql(
            "update public.user_private set is_moderator = true where id = '\(Person.carol.id)'")
        return try await node.signedIn(.carol)
    }

    private static let first: JSONObject = ["conversation_id": .string(Room.aliceBob), "seq": 1]

    private static func reporting(_ object: JSONObject, _ more: JSONObject = [:]) -> JSONObject {
        let reason: JSONObject = ["reason": "abuse"]
        return JSONObject(object.members + reason.members + more.members)
    }

    @Test("a report reaches the moderators with evidence, and nobody else")
    func reports() async throws {
        try await withNode { node in
            let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
            let carol = try await Self.moderator(node)
            try await bob.sync()
            let sent = try await alice.send("before", to: Room.aliceBob)
            _ = try await bob.nextNotification()
            let answer = try await alice.call(
                "reports.create", Self.reporting(["user_id": .string(Person.bob.id)], ["comment": "He is rude."]))
            let id = try #require(answer["id"])
            let again = try await alice.call("reports.create", Self.reporting(["user_id": .string(Person.bob.id)]))
            #expect(again == answer)
            let list = try await carol.call("reports.list")
            #expect(list["reports"]?.arrayValue?.count == 1)
            #expect(list["reports"]?[0]?["id"] == id)
            #expect(list["reports"]?[0]?["evidence"] == nil)
            let report = try await carol.call("reports.get", ["id": id])
            #expect(report["reported"]?["id"] == .string(Person.bob.id) && report["comment"] == "He is rude.")
            #expect(Set(report["evidence"]?["reported"]?.names ?? []) == Set(Shape.profile))
            #expect(report["evidence"]?["message"] == .null)
            // What comes next to the reported user is the next message, and nothing of the report.
            try await alice.send("after", to: Room.aliceBob)
            let told = try await bob.nextNotification().params()
            #expect(told["messages"]?[0]?["content"] == "after")
            #expect(told["messages"]?[0]?["seq"]?.integerValue == (sent["seq"]?.integerValue ?? 0) + 1)
            #expect(told["profiles"] == nil)
        }
    }

    @Test("evidence of a message has the ten before it, and stays after its deletion")
    func evidence() async throws {
        try await withNode { node in
            let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
            let carol = try await Self.moderator(node)
            for number in 1...11 { try await alice.send("message \(number)", to: Room.aliceBob) }
            let seq = try await bob.send("an insult", to: Room.aliceBob)["seq"] ?? .null
            let message: JSONObject = ["conversation_id": .string(Room.aliceBob), "seq": seq]
            let id = try await alice.call("reports.create", Self.reporting(message))["id"] ?? .null
            try await bob.call("messages.delete", message)
            let evidence = try await carol.call("reports.get", ["id": id])["evidence"]
            #expect(Set(evidence?["message"]?.names ?? []) == Set(Shape.message))
            #expect(evidence?["message"]?["content"] == "an insult")
            #expect(
                evidence?["before"]?.arrayValue?.map { $0["content"] } == (2...11).map { .string("message \($0)") })
            try await node.signedIn(.dave).refused(.notFound, "reports.create", Self.reporting(message))
        }
    }

    @Test("a moderator removes a message, which its members are told")
    func removes() async throws {
        try await withTwoNodes { one, other in
            let (alice, carol) = (try await one.signedIn(.alice), try await Self.moderator(other))
            try await alice.sync()
            try await alice.refused(.forbidden, "moderation.remove_message", Self.first)
            let removed = try await carol.call("moderation.remove_message", Self.first)
            let told = try await alice.nextNotification().params()
            #expect(told["messages"]?[0]?["version"] == removed["version"])
            #expect(told["messages"]?[0]?["content"] == .null)
            #expect(told["messages"]?[0]?["deleted_at"] == removed["deleted_at"])
            #expect(try await carol.call("moderation.remove_message", Self.first) == removed)
        }
    }

    @Test("a ban ends the user's sessions, and sign-in says how long it lasts")
    func bans() async throws {
        try await withNode { node in
            let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
            let carol = try await Self.moderator(node)
            let user: JSONObject = ["user_id": .string(Person.bob.id)]
            try await alice.refused(.forbidden, "moderation.ban_user", user)
            let end: JSONObject = ["until": "2999-01-02T03:04:05Z"]
            let ban = try await carol.call("moderation.ban_user", JSONObject(user.members + end.members))
            #expect(ban["is_banned"] == true && ban["banned_until"] == "2999-01-02T03:04:05.000000Z")
            try await bob.expectEnd()
            let credentials: JSONObject = [
                "email": .string(Person.bob.email), "password": .string(TestNode.password),
            ]
            let error = try await node.connect().refused(.accountSuspended, "auth.login", credentials)
            #expect(error?.data["retry_at"] == "2999-01-02T03:04:05.000000Z")
            let wrong: JSONObject = ["email": .string(Person.bob.email), "password": "not the password"]
            try await node.connect().refused(.invalidCredentials, "auth.login", wrong)
            #expect(try await carol.call("moderation.unban_user", user)["is_banned"] == false)
            try await node.connect().call("auth.login", credentials)
        }
    }

    @Test("is_moderator is told to the user's own sessions")
    func tells() async throws {
        try await withNode { node in
            let carol = try await node.signedIn(.carol)
            try await carol.sync()
            #expect(try await carol.call("me.get")["is_moderator"] == false)
            try await node.database.psql(
                "update public.user_private set is_moderator = true where id = '\(Person.carol.id)'")
            #expect(try await carol.nextNotification().params()["me"]?["is_moderator"] == true)
        }
    }
}
