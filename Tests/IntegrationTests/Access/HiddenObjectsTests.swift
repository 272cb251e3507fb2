@testable import Messaging
import LineClient
import TestSupport
import Testing
@testable import WireProtocol

@Suite("Row-level security hides other users' data", .timeLimit(.minutes(20)))
struct HiddenObjectsTests {
    @Test(
        "row 42: hidden and missing conversations have identical responses",
        .covers("A14", "A15"))
    func conversations() async throws {
        try await withNode { node in
            let frank = try await node.signedIn(.frank)
            let stranger = try await node.stranger()
            var covered = 0
            for method in SampleParameters.methods where method.parameters.contains("conversation_id") {
                covered += 1
                for client in [frank, stranger] {
                    for hidden in [Room.aliceBob, Room.alps] {
                        let answers = try await [hidden, nobody].asyncMap { id in
                            try await client.answerText(
                                method.method,
                                .object(SampleParameters.params(of: method, with: "conversation_id", .string(id))))
                        }
                        #expect(
                            answers[0].contains(#""code":"\#(Self.refusal(of: method.method).rawValue)""#),
                            "\(method.method)")
                        #expect(
                            answers[0].replacing(hidden, with: "ID") == answers[1].replacing(nobody, with: "ID"),
                            "\(method.method)")
                    }
                }
            }
            #expect(covered >= 10)
            #expect(
                try await node.database.value("select last_seq from public.conversations where id = '\(Room.aliceBob)'")
                    == "90")
        }
    }

    /// The error for a conversation that a user does not see. Methods of moderators refuse others before they look.
    private static func refusal(of method: String) -> ErrorCode {
        method.hasPrefix("moderation.") ? .forbidden : .notFound
    }

    @Test("row 42: client_id, seq and invalid params reveal nothing either")
    func sideDoors() async throws {
        try await withNode { node in
            let id = "12345678-1234-4234-8234-123456789abc"
            let alice = try await node.signedIn(.alice)
            try await alice.call(
                "messages.send", ["conversation_id": .string(Room.aliceBob), "content": "x", "client_id": .string(id)])
            let frank = try await node.signedIn(.frank)
            let probes: [(String, [(String, JSON)])] = [
                ("messages.send", [("content", "x"), ("client_id", .string(id))]),
                ("messages.send", [("content", "other"), ("client_id", .string(id))]),
                ("messages.send", [("content", ""), ("kind", "image"), ("attachment", ["url": "http://bad"])]),
                ("messages.mark_read", [("seq", 0)]), ("messages.mark_read", [("seq", 1_000_000)]),
                ("messages.list", [("after_seq", 1_000_000)]), ("messages.list", [("before_seq", 1)]),
            ]
            for (method, params) in probes {
                let answers = try await [Room.aliceBob, nobody].asyncMap { room in
                    try await frank.answerText(
                        method,
                        .object(
                            JSONObject(
                                ([("conversation_id", .string(room))] + params).map { .init(name: $0.0, value: $0.1) }))
                    )
                }
                #expect(
                    answers[0].replacing(Room.aliceBob, with: "ID") == answers[1].replacing(nobody, with: "ID"),
                    "\(method) \(params)")
            }
        }
    }

    @Test("a removed member sees nothing until added again")
    func removed() async throws {
        try await withNode { node in
            let dave = try await node.signedIn(.dave)
            try await dave.call("conversations.get", ["conversation_id": .string(Room.alps)])
            try await node.database.psql(
                "delete from public.conversation_members where conversation_id = '\(Room.alps)' and user_id = '\(Person.dave.id)'"
            )
            for method in SampleParameters.methods where method.parameters.contains("conversation_id") {
                try await dave.refused(
                    Self.refusal(of: method.method), method.method,
                    SampleParameters.params(of: method, with: "conversation_id", .string(Room.alps)))
            }
            let list = try await dave.call("conversations.list")
            #expect(list["conversations"]?.arrayValue?.map { $0["id"] } == [.string(Room.bobDave)])
            try await node.database.psql(
                "insert into public.conversation_members (conversation_id, user_id) values ('\(Room.alps)', '\(Person.dave.id)')"
            )
            let messages = try await dave.call(
                "messages.list", ["conversation_id": .string(Room.alps), "after_seq": 0, "limit": 200])
            #expect(messages["messages"]?.arrayValue?.first?["seq"] == 1)
        }
    }
}

extension Sequence where Self: Sendable {
    /// Maps the elements sequentially.
    func asyncMap<Value>(_ transform: (Element) async throws -> Value) async rethrows -> [Value] {
        var values: [Value] = []
        for element in self { values.append(try await transform(element)) }
        return values
    }
}
