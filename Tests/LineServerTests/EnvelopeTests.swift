import Messaging
import NIOCore
import Testing
import WireProtocol

@testable import LineServer

@Suite("Request envelope")
struct EnvelopeTests {
    /// Parses an envelope, and answers each request with its method's name.
    func answer(_ line: String) -> String {
        func text(_ item: Envelope.Item) -> String? {
            guard let id = item.id else { return nil }
            var buffer = ByteBuffer()
            switch item.content {
            case .success(let request):
                buffer.writeAnswer(id: id, .result(ByteBuffer(string: request.method.jsonQuoted)))
            case .failure(let error):
                buffer.writeString("\(id.text) \(error.code.rawValue)")
                for member in error.data { buffer.writeString(" \(member.name)=\(member.value.text)") }
            }
            return String(buffer: buffer)
        }
        switch Envelope(ByteBuffer(string: line)) {
        case .single(let item): return text(item) ?? "-"
        case .batch(let items): return "[\(items.compactMap(text).joined(separator: ", "))]"
        }
    }

    @Test("refuses long runs of combining characters, with the id")
    func combiningRun() {
        let accents = String(repeating: "\u{301}\u{316}", count: 15_000)
        let members = [
            (#""\#(accents)":1"#, ""), (#""params":{"a":"\#(accents)"}"#, #" field="a""#),
            (#""params":{"\#(accents)":1}"#, ""),
        ]
        for (member, field) in members {
            #expect(answer(#"{"jsonrpc":"2.0","id":7,"method":"m",\#(member)}"#) == "7 invalid_params\(field)")
            #expect(answer(#"{"jsonrpc":"2.0","method":"m",\#(member)}"#) == "-")
        }
    }

    /// JSON-RPC 2.0, section 7, in its order. Positional parameters, which it allows, are refused here.
    static let specification: [(String, String)] = [
        (#"{"jsonrpc": "2.0", "method": "subtract", "params": [42, 23], "id": 1}"#, "1 unknown_method"),
        (#"{"jsonrpc": "2.0", "method": "subtract", "params": [23, 42], "id": 2}"#, "2 unknown_method"),
        (
            #"{"jsonrpc": "2.0", "method": "subtract", "params": {"subtrahend": 23, "minuend": 42}, "id": 3}"#,
            #"{"jsonrpc":"2.0","id":3,"result":"subtract"}"#
        ),
        (
            #"{"jsonrpc": "2.0", "method": "subtract", "params": {"minuend": 42, "subtrahend": 23}, "id": 4}"#,
            #"{"jsonrpc":"2.0","id":4,"result":"subtract"}"#
        ),
        (#"{"jsonrpc": "2.0", "method": "update", "params": [1,2,3,4,5]}"#, "-"),
        (#"{"jsonrpc": "2.0", "method": "foobar"}"#, "-"),
        (
            #"{"jsonrpc": "2.0", "method": "foobar", "id": "1"}"#,
            #"{"jsonrpc":"2.0","id":"1","result":"foobar"}"#
        ),
        (#"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]"#, "null parse_error"),
        (#"{"jsonrpc": "2.0", "method": 1, "params": "bar"}"#, "null invalid_request"),
        (
            #"[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, {"jsonrpc": "2.0", "method"]"#,
            "null parse_error"
        ),
        ("[]", "null invalid_request"),
        ("[1]", "[null invalid_request]"),
        ("[1,2,3]", "[null invalid_request, null invalid_request, null invalid_request]"),
        (
            #"[{"jsonrpc": "2.0", "method": "sum", "params": [1,2,4], "id": "1"}, "#
                + #"{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}, "#
                + #"{"jsonrpc": "2.0", "method": "subtract", "params": [42,23], "id": "2"}, {"foo": "boo"}, "#
                + #"{"jsonrpc": "2.0", "method": "foo.get", "params": {"name": "myself"}, "id": "5"}, "#
                + #"{"jsonrpc": "2.0", "method": "get_data", "id": "9"}]"#,
            #"["1" unknown_method, "2" unknown_method, null invalid_request, "#
                + #"{"jsonrpc":"2.0","id":"5","result":"foo.get"}, {"jsonrpc":"2.0","id":"9","result":"get_data"}]"#
        ),
        (
            #"[{"jsonrpc": "2.0", "method": "notify_sum", "params": [1,2,4]}, "#
                + #"{"jsonrpc": "2.0", "method": "notify_hello", "params": [7]}]"#,
            "[]"
        ),
    ]

    @Test("reads the specification's examples", arguments: EnvelopeTests.specification)
    func examples(_ line: String, _ expected: String) {
        #expect(self.answer(line) == expected)
    }

    @Test(
        "an id is a string, integer or null, and is returned unchanged",
        arguments: [
            "7", "-0", "20.0", "2e1", "0", "-9223372036854775808", "9223372036854775807", "\"\"", "\"a\\\"b\"",
            "\"é\"", "null",
        ])
    func ids(_ id: String) {
        #expect(
            self.answer(#"{"jsonrpc":"2.0","method":"m","id":\#(id)}"#)
                == #"{"jsonrpc":"2.0","id":\#(id),"result":"m"}"#)
    }

    @Test(
        "row 58: refuses an id beyond 64 bits, and runs nothing",
        arguments: [
            "1e400", "-1e400", "1e19", "9223372036854775808", "-9223372036854775809", "123456789012345678901234567890",
            "1e99999999999999999999",
        ])
    func largeIDs(_ id: String) {
        #expect(self.answer(#"{"jsonrpc":"2.0","method":"m","id":\#(id)}"#) == "null invalid_request")
    }

    @Test("refuses any other id", arguments: ["1.5", "1e-1", "true", "false", "[]", "{}", "[1]"])
    func noIDs(_ id: String) {
        #expect(self.answer(#"{"jsonrpc":"2.0","method":"m","id":\#(id)}"#) == "null invalid_request")
    }

    @Test(
        "a malformed envelope is answered with its id if readable",
        arguments: [
            (#"{"method":"m","id":1}"#, "1 invalid_request"),
            (#"{"jsonrpc":"1.0","method":"m","id":1}"#, "1 invalid_request"),
            (#"{"jsonrpc":2.0,"method":"m","id":1}"#, "1 invalid_request"),
            (#"{"jsonrpc":"2.0","id":1}"#, "1 invalid_request"),
            (#"{"jsonrpc":"2.0","method":null,"id":1}"#, "1 invalid_request"),
            (#"{"jsonrpc":"2.0","method":["m"],"id":"x"}"#, #""x" invalid_request"#),
            (#"{"jsonrpc":"2.0","method":"m","params":null,"id":1}"#, "1 invalid_request"),
            (#"{"jsonrpc":"2.0","method":"m","params":"p","id":1}"#, "1 invalid_request"),
            (#"{"jsonrpc":"2.0","method":"m","params":7,"id":1}"#, "1 invalid_request"),
            (#"{"jsonrpc":"2.0","method":"me.get","params":[1],"id":1}"#, "1 invalid_params"),
            (#"{"jsonrpc":"2.0","method":"m","params":[1],"id":1}"#, "1 unknown_method"),
            (#"{"jsonrpc":"2.0","method":"m","params":[],"id":1}"#, #"{"jsonrpc":"2.0","id":1,"result":"m"}"#),
            (#"{"jsonrpc":"2.0","method":"m","id":1,"auth":"x"}"#, "1 invalid_request"),
            (#"{"jsonrpc":"2.0","method":"m","ID":1}"#, "null invalid_request"),
            (#"{"jsonrpc":"2.0","result":1,"id":1}"#, "1 invalid_request"),
            (#"{"jsonrpc":"2.0","method":"m","method":"n","id":1}"#, "1 invalid_request"),
            (#"{"jsonrpc":"2.0","jsonrpc":"2.0","method":"m","id":1}"#, "1 invalid_request"),
            (#"{"jsonrpc":"2.0","method":"m","params":{},"params":{},"id":1}"#, "1 invalid_request"),
            (#"{"jsonrpc":"2.0","method":"m","id":1,"id":2}"#, "null invalid_request"),
            (#"{"jsonrpc":"2.0","method":"m","id":1,"\u0069d":1}"#, "null invalid_request"),
            (#"{}"#, "null invalid_request"), ("7", "null invalid_request"), (#""m""#, "null invalid_request"),
            ("null", "null invalid_request"), ("{", "null parse_error"), ("hello", "null parse_error"),
            (#"{"jsonrpc":"2.0","method":"m","id":NaN}"#, "null parse_error"),
            (#"{"jsonrpc":"2.0","method":"\ud800","id":1}"#, "null parse_error"),
            (#"{"jsonrpc":"2.0","method":"m","id":1} {}"#, "null parse_error"),
            ("[[]]", "[null invalid_request]"),
            (String(repeating: "[", count: 60_000), "null parse_error"),
            (String(repeating: "[", count: 100_000) + String(repeating: "]", count: 100_000), "null parse_error"),
        ])
    func envelope(_ line: String, _ expected: String) {
        #expect(self.answer(line) == expected)
    }

    @Test("detects bytes that are not UTF-8")
    func invalidUTF8() {
        let line = ByteBuffer(bytes: Array(#"{"jsonrpc":"2.0","method":"m","id":"#.utf8) + [0xC3, 0x28])
        guard case .single(let item) = Envelope(line), case .failure(let error) = item.content else {
            Issue.record("accepted")
            return
        }
        #expect(item.id == .null)
        #expect(error.code == .invalidUTF8)
    }

    @Test("a batch holds up to 50 requests")
    func batches() {
        func batch(_ count: Int) -> String {
            "[\((0..<count).map { #"{"jsonrpc":"2.0","method":"m","id":\#($0)}"# }.joined(separator: ","))]"
        }
        guard case .batch(let items) = Envelope(ByteBuffer(string: batch(50))) else {
            Issue.record("refused")
            return
        }
        #expect(items.map(\.id) == (0..<50).map { .integer($0) })
        #expect(self.answer(batch(51)) == "null invalid_request")
    }

    @Test("params are an object, or absent")
    func params() {
        func request(_ line: String) -> Request? {
            guard case .single(let item) = Envelope(ByteBuffer(string: line)) else { return nil }
            return try? item.content.get()
        }
        #expect(
            request(#"{"params":{"a":1,"a":2},"id":7,"method":"m","jsonrpc":"2.0"}"#)
                == Request(
                    method: "m",
                    params: JSONObject([.init(name: "a", value: .integer(1)), .init(name: "a", value: .integer(2))])))
        #expect(request(#"{"jsonrpc":"2.0","method":"m"}"#) == Request(method: "m", params: JSONObject()))
    }

    @Test("an error has its class, name and retryable flag")
    func errors() {
        var buffer = ByteBuffer()
        buffer.writeAnswer(
            id: .integer(7),
            .failure(
                ProtocolError(
                    .usernameTaken, "That username is taken.", data: [.init(name: "field", value: .string("username"))])
            ))
        #expect(
            String(buffer: buffer)
                == #"{"jsonrpc":"2.0","id":7,"error":{"code":409,"message":"That username is taken.","data":"#
                + #"{"code":"username_taken","retryable":false,"field":"username"}}}"#)
        buffer.clear()
        buffer.writeAnswer(id: .null, .failure(ProtocolError(.unavailable, "\"x\"\n")))
        #expect(
            String(buffer: buffer)
                == #"{"jsonrpc":"2.0","id":null,"error":{"code":503,"message":"\"x\"\n","data":{"code":"unavailable","retryable":true}}}"#
        )
    }

    @Test("joins a result of several lines")
    func lineEnds() {
        var buffer = ByteBuffer()
        buffer.writeAnswer(id: .integer(1), .result(ByteBuffer(string: "{\n\"a\\n\":\n[1,\n2]}\n")))
        #expect(String(buffer: buffer) == "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{ \"a\\n\": [1, 2]} }")
    }

    @Test("damaged requests are rejected or parsed, without a trap")
    func damaged() {
        var generator = SeededGenerator(state: 11)
        let whole =
            Array(
                #"[{"jsonrpc":"2.0","id":7,"method":"messages.send","params":{"content":"é\u00e9\ud83d\ude00","seq":-1.5e3}},{"#
                    .utf8
            ) + Array(#""jsonrpc":"2.0","method":"n"}]"#.utf8)
        for _ in 0..<20_000 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1...4, using: &generator) where !bytes.isEmpty {
                let place = Int.random(in: 0..<bytes.count, using: &generator)
                switch Int.random(in: 0..<4, using: &generator) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: bytes.remove(at: place)
                case 2: bytes.insert(bytes[Int.random(in: 0..<bytes.count, using: &generator)], at: place)
                default: bytes.removeSubrange(place...)
                }
            }
            switch Envelope(ByteBuffer(bytes: bytes)) {
            case .single(let item): #expect(item.id != nil)
            case .batch(let items): #expect((1...50).contains(items.count))
            }
        }
    }
}
