import BoundedWait
import Foundation
import LineClient
import TestSupport
import Testing
import WireProtocol

@Suite("Expired messages", .timeLimit(.minutes(10)))
struct RetentionTests {
    private static let group: JSONObject = ["conversation_id": .string(Room.alps)]

    /// Makes all messages of a conversation older than its time, and lets the nodes look at once.
    private static func age(_ room: String, by time: String, _ database: TestDatabase) async throws {
        try await database.psql(
            """
            update public.messages set created_at = created_at - interval '\(time)' where conversation_id = '\(room)';
            update app.message_expiry set check_at = now();
            update app.retention_walk set started_at = '-infinity', position = null;
            """)
    }

    @Test("row 65c: disappear for all members after the time of the conversation, and stay stored once")
    func ownTime() async throws {
        try await withTwoNodes(.telling()) { one, other in
            let alice = try await one.signedIn(.alice)
            let bob = try await other.signedIn(.bob)
            let away = try await other.signedIn(.carol)
            for client in [alice, bob, away] { try await client.sync() }
            try await away.call("sync.close")
            let send: JSONObject = [
                "conversation_id": .string(Room.alps), "content": "for a day",
                "client_id": .string(UUID().uuidString.lowercased()),
            ]
            let sent = try await alice.call("messages.send", send)
            let seq = try #require(sent["seq"]?.integerValue)

            let changed = try await alice.call(
                "conversations.update",
                ["conversation_id": .string(Room.alps), "message_ttl_seconds": 86_400])
            #expect(changed["message_ttl_seconds"] == 86_400 && changed["first_seq"] == 1)
            try await bob.follow("the event") {
                $0.messages[Room.alps]?.values.contains {
                    $0["event"] == ["type": "ttl_changed", "message_ttl_seconds": 86_400]
                } == true
            }
            try await Self.age(Room.alps, by: "2 days", one.database)
            for client in [alice, bob] {
                try await client.follow("the expiry") {
                    $0.conversations[Room.alps]?["first_seq"]?.integerValue ?? 0 > seq
                }
                await #expect(client.state.conversations[Room.alps]?["last_message_content"] == .null)
                await #expect(client.state.conversations[Room.alps]?["unread_count"] == 0)
                await #expect(client.state.messages[Room.alps] == [:])
                #expect(try await client.call("messages.list", Self.group)["messages"] == [])
            }
            let delta = try await away.sync(from: away.cursor)
            #expect(delta.allSatisfy { $0["reset"] == false })
            await #expect(away.state.conversations[Room.alps]?["first_seq"]?.integerValue ?? 0 > seq)

            // The answer to the send was lost, and the sender repeats it.
            let again = try await alice.call("messages.send", send)
            #expect(again["id"] == sent["id"] && again["seq"] == sent["seq"])
            #expect(again["content"] == .null && again["deleted_at"] != .null)
            try await bob.call("messages.send", ["conversation_id": .string(Room.alps), "content": "new"])
            let rest = try await alice.call("messages.list", Self.group)["messages"]?.arrayValue
            #expect(rest?.compactMap { $0["content"]?.stringValue } == ["new"])
        }
    }

    @Test("the time is between a minute and a year, and for those who may change the conversation")
    func refusals() async throws {
        try await withNode { node in
            let alice = try await node.signedIn(.alice)
            let carol = try await node.signedIn(.carol)
            func params(_ seconds: JSON) -> JSONObject {
                ["conversation_id": .string(Room.alps), "message_ttl_seconds": seconds]
            }
            for seconds: JSON in [59, 31_536_001, "60", 60.5] {
                try await alice.refused(
                    .invalidParams, "conversations.update", params(seconds), field: "message_ttl_seconds")
            }
            try await carol.refused(.forbidden, "conversations.update", params(60))
            #expect(try await alice.call("conversations.update", params(60))["message_ttl_seconds"] == 60)
            #expect(try await alice.call("conversations.update", params(.null))["message_ttl_seconds"] == .null)
        }
    }

    @Test("a server deletes messages that are older than its time")
    func serverTime() async throws {
        try await TestDatabase.with { database in
            try await database.psql(
                """
                update public.messages set created_at = now() - interval '8 days' where conversation_id = '\(Room.alps)';
                update public.messages set created_at = now() where conversation_id <> '\(Room.alps)';
                """)
            let others = try await database.value(
                "select count(*) from public.messages where conversation_id <> '\(Room.alps)'")
            let node = try await ServeProcess.start(
                database, environment: ["POSTLINE_MESSAGE_RETENTION_DAYS": "7"])
            defer { node.command.signal(SIGKILL) }
            try await database.wait(
                for: "select count(*) from public.messages where conversation_id = '\(Room.alps)'", toBe: "0")
            #expect(try await database.value("select count(*) from public.messages") == others)
        }
    }
}
