import NIOCore
import Testing
import WireProtocol

/// A deterministic random number generator (SplitMix64).
struct Seeded: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = self.state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }
}

@Suite("JSON values")
struct JSONTests {
    func number(_ text: String) throws -> JSONNumber {
        guard case .number(let number) = try JSON(parsing: text) else { throw JSONError.tooDeep }
        return number
    }

    @Test(
        "reads integers exactly in any notation",
        arguments: [
            ("0", 0), ("-0", 0), ("-0.0", 0), ("0e999999999999999999999", 0), ("0.000e-5", 0), ("20", 20), ("20.0", 20),
            ("2e1", 20), ("2E+1", 20), ("200e-1", 20), ("0.2e2", 20), ("0.00000000000000000002e21", 20),
            ("-1.50e1", -15), ("9007199254740993", 9_007_199_254_740_993), ("9223372036854775807", .max),
            ("-9223372036854775808", .min), ("9223372036854775807.000", .max), ("922337203685477580700e-2", .max),
            ("1e18", 1_000_000_000_000_000_000), ("10000000000000000000000000e-20", 100_000),
        ] as [(String, Int64)])
    func integers(_ text: String, _ value: Int64) throws {
        #expect(try self.number(text).integer == value)
        #expect(try self.number(text).isInteger)
    }

    @Test("finds runs of more than 128 combining characters")
    func combiningRuns() throws {
        for mark in ["\u{301}", "\u{316}\u{301}", "\u{344}", "\u{F73}", "\u{591}", "\u{1D165}"] {
            let long = "a" + String(repeating: mark, count: 129)
            for text in [#""\#(long)""#, #"[["\#(long)"]]"#, #"{"\#(long)":1}"#, #"{"a":{"b":["\#(long)"]}}"#] {
                #expect(try JSON(parsing: text).hasLongCombiningRun)
            }
        }
        let allowed = [
            "a" + String(repeating: "\u{301}", count: 128),
            String(repeating: "a" + String(repeating: "\u{301}", count: 60), count: 99),
            String(repeating: "語", count: 999), String(repeating: "क्षि", count: 999),
            String(repeating: "👩‍👩‍👧‍👦", count: 99), String(repeating: "한", count: 999),
        ]
        for text in allowed { #expect(!text.hasLongCombiningRun) }
    }

    @Test("names the path of a long run of combining characters")
    func combiningRunPath() throws {
        let long = "a" + String(repeating: "\u{301}", count: 129)
        func field(_ params: String) throws -> JSON? {
            let error = ProtocolError.longCombiningRun(in: try JSON(parsing: params))
            return error.data.first { $0.name == "field" }?.value
        }
        #expect(try field(#"{"limit":1,"bio":"\#(long)"}"#) == .string("bio"))
        #expect(try field(#"{"avatar":{"type":"custom","avatar_id":"\#(long)"}}"#) == .string("avatar.avatar_id"))
        #expect(try field(#"{"ids":["a","\#(long)"]}"#) == .string("ids[1]"))
        #expect(try field(#"{"preferences":{"\#(long)":1}}"#) == .string("preferences"))
        #expect(try field(#"{"\#(long)":1}"#) == nil)
        #expect(try field(#"["\#(long)"]"#) == nil)
    }

    @Test(
        "rejects integers out of range",
        arguments: [
            ("1.5", false), ("0.1", false), ("1e-1", false), ("15e-1", false), ("1e-400", false),
            ("1e-99999999999999999999", false), ("9223372036854775808", true), ("-9223372036854775809", true),
            ("1e19", true), ("1e131071", true), ("-1e131071", true), ("1e99999999999999999999", true),
            ("99999999999999999999999999999999", true), ("12345678901234567890.5", false),
        ])
    func noIntegers(_ text: String, isInteger: Bool) throws {
        #expect(try self.number(text).integer == nil)
        #expect(try self.number(text).isInteger == isInteger)
    }

    @Test("reads a number of 100,000 digits quickly")
    func longNumbers() throws {
        #expect(try self.number("1" + String(repeating: "0", count: 100_000)).integer == nil)
        #expect(try self.number("1" + String(repeating: "0", count: 100_000) + "e-100000").integer == 1)
        #expect(try self.number("0." + String(repeating: "0", count: 100_000) + "1e100001").integer == 1)
    }

    @Test("has only finite doubles")
    func doubles() throws {
        #expect(try self.number("1.5").double == 1.5)
        #expect(try self.number("-0").double == 0)
        #expect(try self.number("1e400").double == nil)
        #expect(try self.number("-1e131071").double == nil)
        #expect(try self.number("1e-400").double == 0)
    }

    @Test("writes numbers as read")
    func numberText() throws {
        for text in ["1.0", "-0", "1e131071", "1E+5", "12345678901234567890.12345678901234567890"] {
            #expect(try JSON(parsing: text).text == text)
        }
    }

    @Test("keeps the order of objects and finds duplicates")
    func objects() throws {
        guard case .object(let object) = try JSON(parsing: #"{"b":1,"a":2,"b":3,"a":4}"#) else {
            return #expect(Bool(false))
        }
        #expect(object.members.map(\.name) == ["b", "a", "b", "a"])
        #expect(object["b"] == .integer(1))
        #expect(object["c"] == nil)
        #expect(object.duplicate == "b")
        #expect(JSON.object(object).text == #"{"b":1,"a":2,"b":3,"a":4}"#)

        let many = (0..<1_000).map { JSONObject.Member(name: "n\($0)", value: .null) }
        #expect(JSONObject(many).duplicate == nil)
        #expect(JSONObject(many + [many[417]]).duplicate == "n417")
        #expect(JSONObject(many)["n999"] == .null)
    }

    @Test("finds duplicates at any depth")
    func deepDuplicates() throws {
        #expect(try JSON(parsing: #"{"a":[{"b":{"c":1,"d":2,"c":3}}]}"#).duplicate == "c")
        #expect(try JSON(parsing: #"{"a":[{"b":{"a":1}},{"b":2}]}"#).duplicate == nil)
    }

    @Test("compares names by code point")
    func names() throws {
        guard case .object(let object) = try JSON(parsing: "{\"\u{212A}\":1,\"\u{E9}\":2,\"e\u{301}\":3}") else {
            return
        }
        #expect(object["K"] == nil)
        #expect(object["\u{E9}"] == .integer(2))
        #expect(object["e\u{301}"] == .integer(3))
        #expect(object.duplicate == nil)
        #expect(JSON.string("\u{E9}") != .string("e\u{301}"))
    }

    @Test("escapes only what it must")
    func escaping() throws {
        var buffer = ByteBuffer()
        buffer.writeJSONString("a\"b\\c/\u{0}\u{1F}\u{7}\u{8}\u{C}\n\r\té😀\u{7F}\u{2028}")
        #expect(
            String(buffer: buffer)
                == "\"a\\\"b\\\\c/\\u0000\\u001f\\u0007\\b\\f\\n\\r\\té😀\u{7F}\u{2028}\"")
        #expect("".jsonQuoted == "\"\"")
        #expect("\"".jsonQuoted == "\"\\\"\"")
    }

    @Test("reads back 2,000 random values")
    func roundTrip() throws {
        var generator = Seeded(state: 42)
        for _ in 0..<2_000 {
            let value = self.random(depth: 0, &generator)
            let text = value.text
            #expect(try JSON(parsing: text) == value)
            #expect(try JSON(parsing: text).text == text)
            #expect(!text.utf8.contains(UInt8(ascii: "\n")))
        }
    }

    private func random(depth: Int, _ generator: inout Seeded) -> JSON {
        switch Int.random(in: 0..<(depth > 4 ? 5 : 7), using: &generator) {
        case 0: return .null
        case 1: return .bool(Bool.random(using: &generator))
        case 2: return .integer(Int64.random(in: .min ... .max, using: &generator))
        case 3:
            let double = Double(bitPattern: UInt64.random(in: 0...UInt64.max, using: &generator))
            return double.isFinite ? (try? JSON(parsing: "\(double)")) ?? .null : .null
        case 4: return .string(self.randomString(&generator))
        case 5:
            return .array(
                (0..<Int.random(in: 0...4, using: &generator)).map { _ in self.random(depth: depth + 1, &generator) })
        default:
            return .object(
                JSONObject(
                    (0..<Int.random(in: 0...4, using: &generator)).map { _ in
                        .init(name: self.randomString(&generator), value: self.random(depth: depth + 1, &generator))
                    }))
        }
    }

    private func randomString(_ generator: inout Seeded) -> String {
        var scalars = String.UnicodeScalarView()
        for _ in 0..<Int.random(in: 0...12, using: &generator) {
            let limits: [UInt32] = [0x20, 0x80, 0x800, 0x1_0000, 0x11_0000]
            let limit = limits[Int.random(in: 0..<limits.count, using: &generator)]
            if let scalar = Unicode.Scalar(UInt32.random(in: 0..<limit, using: &generator)) { scalars.append(scalar) }
        }
        return String(scalars)
    }
}
