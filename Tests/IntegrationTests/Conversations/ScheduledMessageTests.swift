import BoundedWait
import Foundations
import LineClient
import Postgres
import Testing
import WireProtocol

@Suite("Scheduled messages", .timeLimit(.minutes(20)))
struct ScheduledMessageTests {
    private static func message(_ content: String, after seconds: Double, _ more: JSONObject = [:]) -> JSONObject {
        let message: JSONObject = [
            "conversation_id": .string(Room.aliceBob), "content": .string(content),
            "due_at": .string(Timestamp.after(seconds: seconds)),
        ]
        return JSONObject(message.members.filter { more[$0.name] == nil } + more.members)
    }

    /// Returns the contents of the messages in a client's next notification.
    private static func nextContents(of client: TestClient) async throws -> [JSON?] {
        guard case .array(let messages)? = try await client.nextNotification().params()["messages"] else { return [] }
        return messages.map { $0["content"] }
    }

    @Test("a message is sent once at its time by one of two nodes, and leaves the list of all devices")
    func sends() async throws {
        try await withTwoNodes { one, other in
            let (alice, phone) = (try await one.signedIn(.alice), try await other.signedIn(.alice))
            let bob = try await other.signedIn(.bob)
            for client in [alice, phone, bob] { try await client.sync() }
            let due = Self.message("later", after: 1, ["data": ["a": 1]])
            let scheduled = try await alice.call("messages.schedule", due)
            #expect(scheduled["due_at"] == due["due_at"] && scheduled["error"] == .null)
            let told = try await phone.nextNotification().params()
            #expect(told["conversations"]?[0]?["scheduled_count"] == 1)
            let list = try await phone.call("messages.scheduled")
            #expect(list["scheduled"] == [scheduled])
            let pushed = try await bob.nextNotification().params()
            #expect(pushed["messages"]?[0]?["content"] == "later")
            #expect(pushed["messages"]?[0]?["client_id"] == scheduled["id"])
            #expect(pushed["messages"]?[0]?["data"] == ["a": 1])
            #expect(try await bob.call("messages.scheduled")["scheduled"] == [])
            let empty = try await alice.call("messages.scheduled")
            #expect(empty["scheduled"] == [])
            let conversation = try await alice.call("conversations.get", ["conversation_id": .string(Room.aliceBob)])
            #expect(conversation["scheduled_count"] == 0)
            // Nothing follows the one message.
            let mark = try await bob.call(
                "messages.mark_read", ["conversation_id": .string(Room.aliceBob), "seq": 1_000_000])
            #expect(mark["last_read_seq"] == pushed["messages"]?[0]?["seq"])
        }
    }

    @Test("a repeated call with the same client_id schedules and sends one message")
    func repeats() async throws {
        try await withNode { node in
            let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
            try await bob.sync()
            let message = Self.message(
                "once", after: 2, ["client_id": "00000000-0000-4000-8000-0000000000aa"])
            let first = try await alice.call("messages.schedule", message)
            #expect(try await alice.call("messages.schedule", message) == first)
            let other = message.members.map { $0.name == "content" ? .init(name: $0.name, value: "other") : $0 }
            try await alice.refused(.clientIDReused, "messages.schedule", JSONObject(other), field: "client_id")
            #expect(try await bob.nextNotification().params()["messages"]?[0]?["content"] == "once")
            // The time has passed, as for a client that has not received the response. The message was sent.
            try await alice.refused(.clientIDReused, "messages.schedule", JSONObject(other), field: "client_id")
            #expect(try await alice.call("messages.schedule", message)["id"] == first["id"])
            #expect(try await alice.call("messages.scheduled")["scheduled"] == [])
        }
    }

    @Test("an unscheduled message is not sent; only its sender can remove it")
    func removes() async throws {
        try await withNode { node in
            let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
            try await bob.sync()
            let id = try await alice.call("messages.schedule", Self.message("never", after: 1))["id"] ?? .null
            try await bob.refused(.notFound, "messages.unschedule", ["id": id])
            #expect(try await alice.call("messages.unschedule", ["id": id])["content"] == "never")
            try await alice.refused(.notFound, "messages.unschedule", ["id": id])
            try await alice.call("messages.schedule", Self.message("after it", after: 1))
            #expect(try await bob.nextNotification().params()["messages"]?[0]?["content"] == "after it")
        }
    }

    @Test("refuses times, targets and contents that messages.send or the bounds refuse")
    func refused() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            func schedule(_ code: ErrorCode, _ params: JSONObject, field: String? = nil) async throws {
                try await alice.refused(
                    code, "messages.schedule", Self.message("x", after: 60, params), field: field)
            }
            try await schedule(.invalidParams, ["due_at": "tomorrow"], field: "due_at")
            try await schedule(.invalidParams, ["due_at": .null], field: "due_at")
            try await schedule(.invalidParams, ["due_at": .string(Timestamp.after(seconds: -1))], field: "due_at")
            try await schedule(
                .invalidParams, ["due_at": .string(Timestamp.after(seconds: 367 * 86_400))], field: "due_at")
            try await schedule(.notFound, ["conversation_id": .string(Room.carolErin)])
            try await schedule(.invalidParams, ["content": ""], field: "content")
            try await schedule(.notFound, ["reply_to_seq": 1_000_000], field: "reply_to_seq")
            try await schedule(.forbidden, ["mentions_everyone": true])
            try await schedule(.invalidParams, ["kind": "image"], field: "attachment")
        }
    }

    @Test("a message that is refused at its time is kept with the error, and its sender is told")
    func refusal() async throws {
        try await withNode { node in
            let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
            let group =
                try await alice.call(
                    "conversations.create_group", ["title": "Plans", "member_ids": [.string(Person.bob.id)]])["id"]
                ?? .null
            try await bob.call(
                "messages.schedule",
                ["conversation_id": group, "content": "late", "due_at": .string(Timestamp.after(seconds: 1))])
            try await alice.call(
                "conversations.remove_member", ["conversation_id": group, "user_id": .string(Person.bob.id)])
            try await eventually("the refusal") {
                let list = try await bob.call("messages.scheduled")["scheduled"]
                return list?[0]?["error"]?["code"] == "not_found" && list?[0]?["content"] == "late"
            }
        }
    }

    @Test("conversations that a transaction keeps locked delay no scheduled message of others")
    func lockedConversations() async throws {
        try await withNode { node in
            let (alice, bob) = (try await node.signedIn(.alice), try await node.signedIn(.bob))
            let carol = try await node.signedIn(.carol)
            var groups: [JSON] = []
            for number in 1...12 {
                groups.append(
                    try await alice.call(
                        "conversations.create_group",
                        ["title": "Plan \(number)", "member_ids": [.string(Person.bob.id)]])["id"] ?? .null)
            }
            for client in [bob, carol] { try await client.sync() }
            for group in groups {
                try await alice.call(
                    "messages.schedule", Self.message("held", after: 60, ["conversation_id": group]))
            }
            let program = try await node.database.connect()
            _ = try await program.execute(
                "begin; select from public.conversations where title like 'Plan %' for update")
            try await node.database.psql("update public.scheduled_messages set next_try_at = now()")
            try await carol.call(
                "messages.schedule", Self.message("free", after: 1, ["conversation_id": .string(Room.aliceCarol)]))
            while try await !Self.nextContents(of: carol).contains("free") {}
            try await alice.send("live", to: Room.aliceBob)
            _ = try await program.execute("commit")
            var held = 0
            while held < groups.count {
                held += try await Self.nextContents(of: bob).filter { $0 == "held" }.count
            }
        }
    }
}
