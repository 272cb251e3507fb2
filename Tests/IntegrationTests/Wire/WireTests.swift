import BoundedWait
@testable import LineClient
@testable import Messaging
import NIOCore
import Testing
@testable import WireProtocol

@Suite("Hostile input", .timeLimit(.minutes(20)))
struct WireTests {
    /// Returns a request line with raw parameters.
    private func line(_ method: String, _ params: String) -> String {
        #"{"jsonrpc":"2.0","id":"x","method":"\#(method)","params":\#(params)}"#
    }

    private func code(_ answer: String) throws -> String {
        try JSON(parsing: ByteBuffer(string: answer))["error"]?["data"]?["code"]?.stringValue ?? "a result"
    }

    @Test("row 1: an oversized line is line_too_long, and the session lives")
    func lineTooLong() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            try await client.sync()
            let most = 65_536
            let frame = line("profiles.get", #"{"username":""}"#).utf8.count
            func request(_ length: Int) -> String {
                line("profiles.get", #"{"username":"\#(String(repeating: "a", count: length - frame))"}"#)
            }
            #expect(try await code(client.exchange(request(most))) == "not_found")
            for length in [most + 1, most + 2, 200_000, 1_000_000] {
                let answer = try JSON(parsing: ByteBuffer(string: try await client.exchange(request(length))))
                #expect(answer["id"] == .null)
                #expect(answer["error"]?["data"]?["code"] == "line_too_long")
                #expect(answer["error"]?["code"] == 413)
            }
            for _ in 0..<100 { try await client.line.send(line: request(most + 1)) }
            for _ in 0..<100 { #expect(try await code(client.nextLine()) == "line_too_long") }
            try await client.send("alive", to: Room.aliceBob)
            try await client.follow { $0.has("alive", in: Room.aliceBob) }
        }
    }

    @Test("row 2: a mebibyte without a newline closes the connection only")
    func endless() async throws {
        try await withNode { node in
            let client = try await node.connect()
            let other = try await node.connect()
            let block = ByteBuffer(repeating: UInt8(ascii: "a"), count: 65_536)
            for _ in 0..<17 { try? await client.line.send(bytes: block) }
            try await within("the goodbye") { await client.line.waitUntilClosed() }
            let goodbye = await client.line.goodbye
            #expect(goodbye?.code == "line_too_long")
            #expect(goodbye?.reconnect == false)
            try await other.call("server.info")
        }
    }

    @Test("row 4: invalid UTF-8 is invalid_utf8, and the session lives")
    func invalidUTF8() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            let sequences: [[UInt8]] = [
                [0xFF], [0xC3, 0x28], [0xC0, 0x80], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80], [0x80],
                [0xF8, 0x88, 0x80, 0x80, 0x80],
            ]
            for bytes in sequences {
                let head =
                    #"{"jsonrpc":"2.0","id":"x","method":"messages.send","params":{"conversation_id":"\#(Room.aliceBob)","content":""#
                try await client.line.send(bytes: ByteBuffer(bytes: Array(head.utf8) + bytes + Array("\"}}\n".utf8)))
                #expect(try await code(client.nextLine()) == "invalid_utf8", "\(bytes)")
            }
            #expect(try await client.send("still here", to: Room.aliceBob)["seq"] == 91)
        }
    }

    @Test("row 5: refuses NUL in every string parameter")
    func nul() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            let before = try await Self.fingerprint(node.database)
            var probes = 0
            for method in SampleParameters.methods {
                let names = try #require(
                    SampleParameters.stringParams(of: method), "\(method.method) has a parameter without a sample value"
                )
                for name in names {
                    // As an escape, and as a byte, which is no JSON.
                    for (nul, expected) in [(#"\u0000"#, ["invalid_params"]), ("\0", ["parse_error"])] {
                        for value in [
                            #""a\#(nul)b""#, #""\#(nul)""#, #"["\#(nul)"]"#, #"{"url":"\#(nul)"}"#, #"{"\#(nul)":"x"}"#,
                        ] {
                            probes += 1
                            let params = SampleParameters.params(of: method, with: name, "PLACE").text.replacing(
                                #""PLACE""#, with: value)
                            let answer = try await client.exchange(line(method.method, params))
                            #expect(expected.contains(try code(answer)), "\(method.method) \(name) \(value)")
                        }
                    }
                }
            }
            #expect(probes >= 590)
            #expect(try await Self.fingerprint(node.database) == before)
        }
    }

    @Test("row 6: the deepest nesting of a line is a parse_error")
    func nesting() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            for (open, close) in [("[", "]"), (#"{"a":"#, "}")] {
                let count = 65_000 / (open.utf8.count + close.utf8.count)
                let deep = String(repeating: open, count: count) + "1" + String(repeating: close, count: count)
                #expect(try await code(client.exchange(deep)) == "parse_error")
                #expect(
                    try await code(client.exchange(String(repeating: open, count: 65_000 / open.utf8.count)))
                        == "parse_error")
                let within = line("me.update", #"{"preferences":{"a":\#(deep.dropFirst(4_000).dropLast(4_000))}}"#)
                #expect(try await code(client.exchange(within)) == "parse_error")
            }
            let bearable = String(repeating: "[", count: 100) + String(repeating: "]", count: 100)
            #expect(
                try await code(client.exchange(line("me.update", #"{"preferences":{"a":\#(bearable)}}"#))) == "a result"
            )
        }
    }

    @Test("row 7: every method refuses non-integers for integers")
    func numbers() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            let before = try await Self.fingerprint(node.database)
            var probes = 0
            for method in SampleParameters.methods {
                for name in method.parameters.names {
                    guard case .number? = SampleParameters.value(of: name, in: method) else { continue }
                    for (number, expected) in [
                        ("1e131071", "invalid_params"), ("9223372036854775808", "invalid_params"),
                        ("-9223372036854775809", "invalid_params"), ("1.5", "invalid_params"),
                        ("1e-1", "invalid_params"),
                        ("1e400", "invalid_params"), ("-1", "invalid_params"), ("NaN", "parse_error"),
                        ("Infinity", "parse_error"), ("01", "parse_error"), ("+1", "parse_error"),
                        ("0x10", "parse_error"),
                        (#""1""#, "invalid_params"), ("true", "invalid_params"), ("[1]", "invalid_params"),
                        (String(repeating: "9", count: 10_000), "invalid_params"),
                    ] {
                        probes += 1
                        let params = SampleParameters.params(of: method, with: name, "PLACE").text.replacing(
                            #""PLACE""#, with: number)
                        let answer = try await client.exchange(line(method.method, params))
                        #expect(try code(answer) == expected, "\(method.method) \(name) \(number.prefix(40))")
                    }
                }
            }
            #expect(probes >= 192)
            #expect(try await Self.fingerprint(node.database) == before)
        }
    }

    @Test("row 7: refuses numbers that a JSON column cannot hold")
    func numbersInObjects() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            let numbers = [
                "1e131072", "1e999999", "-1e400000", "1e309", "1e-20000", "1e-99999999999",
                "0e99999999999", "0.0e-2147483647", "0e9223372036854775808",
                "1." + String(repeating: "0", count: 20_000),
                "0." + String(repeating: "0", count: 20_000) + "1", String(repeating: "9", count: 10_000),
                "170." + String(repeating: "1", count: 20_000),
            ]
            for number in numbers {
                for (method, params) in [
                    ("me.update", #"{"preferences":{"a":[{"n":\#(number)}]}}"#),
                    ("me.update_physical", #"{"height_cm":\#(number)}"#),
                    (
                        "messages.send",
                        #"{"conversation_id":"\#(Room.aliceBob)","kind":"image","#
                            + #""attachment":{"url":"https://a.example.com/b.png","width":\#(number)}}"#
                    ),
                ] {
                    let answer = try await client.exchange(line(method, params))
                    #expect(try code(answer) == "invalid_params", "\(method) \(number.prefix(20))")
                }
            }
            let kept = "[0,-0.0,1e308,4.9e-324,-1.5,12345678901234567890123456789]"
            #expect(
                try await code(client.exchange(line("me.update", #"{"preferences":{"n":\#(kept)}}"#))) == "a result")
        }
    }

    @Test("row 58: refuses a request id beyond 64 bits, and runs nothing")
    func unboundedID() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            for id in ["1e400", "-1e400", "9223372036854775808", String(repeating: "9", count: 1_000)] {
                let answer = try JSON(
                    parsing: try await client.exchange(
                        #"{"jsonrpc":"2.0","id":\#(id),"method":"me.update","params":{"bio":"done"}}"#))
                #expect(answer["id"] == .null)
                #expect(answer["error"]?["data"]?["code"] == "invalid_request")
            }
            #expect(try await client.call("me.get")["bio"] != "done")
        }
    }

    @Test("row 8: refuses lone surrogates in every string parameter")
    func surrogates() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            let before = try await Self.fingerprint(node.database)
            var probes = 0
            for method in SampleParameters.methods {
                for name in SampleParameters.stringParams(of: method) ?? [] {
                    for text in [#"\ud800"#, #"\udc00"#, #"a\ud83dz"#, #"\ude00\ud83d"#, #"\uD800\u0041"#] {
                        probes += 1
                        let params = SampleParameters.params(of: method, with: name, "PLACE").text.replacing(
                            "PLACE", with: text)
                        let code = try code(try await client.exchange(line(method.method, params)))
                        #expect(["parse_error", "invalid_params"].contains(code), "\(method.method) \(name) \(text)")
                    }
                }
            }
            #expect(probes >= 295)
            #expect(try await Self.fingerprint(node.database) == before)
            // A surrogate pair is a character.
            let answer = try await client.exchange(
                line("messages.send", #"{"conversation_id":"\#(Room.aliceBob)","content":"\ud83d\ude00"}"#))
            #expect(answer.contains("😀"))
        }
    }

    @Test("row 9: reads a request split at every byte border")
    func split() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            let bytes = Array((line("profiles.get", #"{"username":"böb"}"#) + "\n").utf8)
            for border in 1..<bytes.count {
                try await client.line.send(bytes: ByteBuffer(bytes: bytes[..<border]))
                try await client.line.send(bytes: ByteBuffer(bytes: bytes[border...]))
                #expect(try await code(client.nextLine()) == "not_found")
            }
        }
    }

    @Test("row 9: a thousand requests in one segment keep their order")
    func pipelined() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            var text = ""
            for number in 0..<1_000 {
                text +=
                    number.isMultiple(of: 5)
                    ? #"{"jsonrpc":"2.0","id":"\#(number)","method":"messages.send","params":{"conversation_id":"\#(Room.aliceBob)","content":"\#(number)"}}"#
                    : #"{"jsonrpc":"2.0","id":"\#(number)","method":"server.info"}"#
                text += "\n"
            }
            try await client.line.send(bytes: ByteBuffer(string: text))
            for number in 0..<1_000 {
                let answer = try JSON(parsing: ByteBuffer(string: try await client.nextLine()))
                #expect(answer["id"]?.stringValue == "\(number)")
                if number.isMultiple(of: 5) { #expect(answer["result"]?["seq"]?.integerValue == 91 + number / 5) }
            }
            #expect(
                try await node.database.value(
                    "select count(*) from public.messages where conversation_id = '\(Room.aliceBob)' and seq > 90 and content::int = (seq - 91) * 5"
                )
                    == "200")
        }
    }

    @Test("answers accepted requests after the client's half-close")
    func halfClosed() async throws {
        try await withNode { node in
            let client = try await node.signedIn(.alice)
            for number in 0..<50 {
                try await client.line.send(
                    line:
                        #"{"jsonrpc":"2.0","id":"\#(number)","method":"messages.send","params":{"conversation_id":"\#(Room.aliceBob)","content":"\#(number)"}}"#
                )
            }
            try await client.line.finishSending()
            for number in 0..<50 { #expect(try await client.nextLine().contains("\"seq\":\(91 + number),")) }
            try await within("the end") { await client.line.waitUntilClosed() }
        }
    }

    /// Returns a hash of all data that clients can change.
    static func fingerprint(_ database: TestDatabase) async throws -> String? {
        try await database.value(
            """
            select md5(string_agg(t, '' order by t)) from (
                select m::text as t from public.messages m union all select p::text from public.user_profiles p
                union all select c::text from public.conversations c union all select c::text from public.conversation_members c
                union all select p::text from public.user_private p union all select id::text from auth.users) as all_rows
            """)
    }
}
