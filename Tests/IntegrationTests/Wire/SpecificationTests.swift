import LineClient
import NIOCore
import Testing
import WireProtocol

@Suite("JSON-RPC 2.0", .timeLimit(.minutes(20)))
struct SpecificationTests {
    /// Returns the response's id with its error code or its result's members.
    private func summary(_ line: String) throws -> String {
        func text(_ answer: JSON) -> String {
            #expect(answer["jsonrpc"] == "2.0")
            #expect(answer.names.count == 3)
            let what =
                answer["error"]?["data"]?["code"]?.stringValue
                ?? answer["result"].map { $0.names.joined(separator: "+") }
            return "\(answer["id"]?.text ?? "-") \(what ?? "-")"
        }
        switch try JSON(parsing: ByteBuffer(string: line)) {
        case .array(let answers): return "[\(answers.map(text).joined(separator: ", "))]"
        case let answer: return text(answer)
        }
    }

    @Test("answers the JSON-RPC specification's examples")
    func examples() async throws {
        try await withNode { node in
            let client = try await node.connect()
            // Positional parameters, which the specification allows, are refused here. Its methods do not exist here.
            let examples = [
                (#"{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": "1"}"#, #""1" unknown_method"#),
                (#"{"jsonrpc": "2.0", "method": "me.get", "params": [42], "id": "1"}"#, #""1" invalid_params"#),
                (
                    #"{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": "3"}"#,
                    #""3" unknown_method"#
                ),
                (#"{"jsonrpc": "2.0", "method": "foobar", "id": "1"}"#, #""1" unknown_method"#),
                (#"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#, "null parse_error"),
                (#"{"jsonrpc": "2.0", "method": 1, "params": "bar"}"#, "null invalid_request"),
                (
                    #"[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, {"jsonrpc": "2.0", "method"]"#,
                    "null parse_error"
                ),
                ("[]", "null invalid_request"), ("[1]", "[null invalid_request]"),
                ("[1,2,3]", "[null invalid_request, null invalid_request, null invalid_request]"),
                (
                    #"[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, "#
                        + #"{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}, "#
                        + #"{"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"}, {"foo": "boo"}, "#
                        + #"{"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"}, "#
                        + #"{"jsonrpc": "2.0", "method": "avatars.list", "id": "9"}]"#,
                    #"["1" unknown_method, "2" unknown_method, null invalid_request, "5" unknown_method, "9" avatars]"#
                ),
            ]
            for (line, expected) in examples {
                #expect(try await summary(client.exchange(line)) == expected, "\(line)")
            }
        }
    }

    @Test("notifications and batches of them get no response")
    func notifications() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            let send =
                #"{"jsonrpc":"2.0","method":"messages.send","params":{"conversation_id":"\#(Room.aliceBob)","content":"CONTENT"}}"#
            try await client.line.send(line: #"{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}"#)
            try await client.line.send(line: #"{"jsonrpc": "2.0", "method": "foobar"}"#)
            try await client.line.send(line: #"[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]}]"#)
            try await client.line.send(line: send.replacing("CONTENT", with: "one"))
            try await client.line.send(
                line: "[\(send.replacing("CONTENT", with: "two")),\(send.replacing("CONTENT", with: ""))]")
            #expect(
                try await summary(client.exchange(#"{"jsonrpc":"2.0","method":"sync.close","id":"end"}"#)) == #""end" "#
            )
            #expect(
                try await node.database.column(
                    "select content from public.messages where conversation_id = '\(Room.aliceBob)' and seq > 90 order by seq"
                )
                    == ["one", "two"])
        }
    }

    @Test("a batch runs in order, and answers on one line in order")
    func batches() async throws {
        try await withNode { node in
            let client = try await node.connect()
            let line = """
                [{"jsonrpc":"2.0","id":"a","method":"me.get"},\
                {"jsonrpc":"2.0","id":"b","method":"auth.login","params":{"email":"alice@example.com","password":"postline-dev"}},\
                {"jsonrpc":"2.0","method":"me.update","params":{"bio":"in a batch"}},\
                {"jsonrpc":"2.0","id":null,"method":"conversations.get","params":{"conversation_id":"\(nobody)"}},\
                {"jsonrpc":"2.0","id":"d","method":"profiles.get","params":{"username":"alice"}}]
                """
            let answers = try JSON(parsing: ByteBuffer(string: try await client.exchange(line)))
            #expect(answers.arrayValue?.map { $0["id"] } == ["a", "b", .null, "d"])
            #expect(answers[0]?["error"]?["data"]?["code"] == "unauthenticated")
            #expect(answers[2]?["error"]?["data"]?["code"] == "not_found")
            #expect(answers[3]?["result"]?["bio"] == "in a batch")
        }
    }

    @Test("a batch has at most fifty requests, or none is executed")
    func batchLimit() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            func batch(_ count: Int) -> String {
                let one =
                    #"{"jsonrpc":"2.0","id":"x","method":"messages.send","params":{"conversation_id":"\#(Room.aliceBob)","content":"b"}}"#
                return "[\(Array(repeating: one, count: count).joined(separator: ","))]"
            }
            #expect(try await summary(client.exchange(batch(51))) == "null invalid_request")
            #expect(
                try await node.database.value("select last_seq from public.conversations where id = '\(Room.aliceBob)'")
                    == "90")
            let answers = try JSON(parsing: ByteBuffer(string: try await client.exchange(batch(50))))
            #expect(answers.arrayValue?.map { $0["result"]?["seq"]?.integerValue } == Array(91...140))
        }
    }

    @Test("a sync opened in a batch is live after the batch's response")
    func syncInBatch() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            let answer = try await client.exchange(
                """
                [{"jsonrpc":"2.0","id":"a","method":"sync.open"},\
                {"jsonrpc":"2.0","id":"b","method":"messages.send","params":{"conversation_id":"\(Room.aliceBob)","content":"in the batch"}}]
                """)
            await client.take(try JSON(parsing: ByteBuffer(string: answer))[0]?["result"] ?? .null)
            try await client.follow { $0.has("in the batch", in: Room.aliceBob) }
            #expect(await client.state.arrivals[Room.aliceBob]?.last == 91)
        }
    }

    @Test("20.0 is the integer 20, and -0 is 0")
    func integers() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            func list(_ numbers: String) async throws -> Int {
                let answer = try await client.exchange(
                    #"{"jsonrpc":"2.0","id":"x","method":"messages.list","params":{"conversation_id":"\#(Room.aliceBob)",\#(numbers)}}"#
                )
                return try JSON(parsing: ByteBuffer(string: answer))["result"]?["messages"]?.arrayValue?.count ?? -1
            }
            #expect(try await list(#""limit":20.0"#) == 20)
            #expect(try await list(#""limit":2e1"#) == 20)
            #expect(try await list(#""after_seq":-0,"limit":1"#) == 1)
            #expect(try await list(#""after_seq":-0.0,"limit":1"#) == 1)
        }
    }

    @Test("pushes come between responses, never within")
    func pushesBetween() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            try await client.sync()
            let bob = try await node.signedIn(.bob)
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { for number in 0..<60 { try await bob.send("\(number)", to: Room.aliceBob) } }
                group.addTask {
                    // Invalid JSON in a line would fail the client's parser and lose the response.
                    for _ in 0..<60 { try await client.call("conversations.list") }
                }
                try await group.waitForAll()
            }
            try await client.follow { $0.messages[Room.aliceBob]?[150] != nil }
            #expect(await client.state.arrivals[Room.aliceBob]?.suffix(60) == ArraySlice(91...150))
        }
    }
}
