import NIOCore
import Testing
import WireProtocol

@Suite("JSON parser")
struct JSONParserTests {
    @Test("parses every kind of value")
    func values() throws {
        #expect(try JSON(parsing: "null") == .null)
        #expect(try JSON(parsing: " true\r\n") == .bool(true))
        #expect(try JSON(parsing: "\tfalse ") == .bool(false))
        #expect(try JSON(parsing: "\"\"") == .string(""))
        #expect(try JSON(parsing: "[]") == .array([]))
        #expect(try JSON(parsing: "{ }") == .object(JSONObject()))
        #expect(
            try JSON(parsing: "[ 1 , [ ] , { \"a\" : [ null ] } ]")
                == .array([.integer(1), .array([]), .object(["a": .array([.null])])]))
    }

    @Test(
        "rejects what RFC 8259 does not allow",
        arguments: [
            "", " ", "nul", "nulll", "True", "NaN", "Infinity", "-Infinity", "undefined", "'a'", "a", "\u{FEFF}1",
            "1 2", "[1,]", "[,1]", "[1 2]", "[", "]", "[1", "[1}", "{", "}", "{\"a\"}", "{\"a\":}", "{\"a\":1,}",
            "{,}", "{a:1}", "{1:1}", "{\"a\":1 \"b\":2}", "{\"a\":1]", "{\"a\" 1}", "\"", "\"a", "\"\\", "\"\\u12",
            "\"\\x\"", "\"\\u12G4\"", "\"\\U0041\"", "\"a\u{0}b\"", "\"a\nb\"", "\"a\tb\"", "\u{0}", "// no\n1",
            "1/**/",
            "+1", "-", "01", "-01", "1.", ".5", "-.5", "1.e1", "1e", "1e+", "1e-", "0x10", "1_000", "--1", "1e1.5", "١",
        ])
    func malformed(_ text: String) {
        #expect {
            try JSON(parsing: text)
        } throws: { error in
            if case JSONError.malformed = error { true } else { false }
        }
    }

    @Test("reports the offset of an error")
    func offset() {
        #expect(throws: JSONError.malformed(offset: 5, reason: "a digit is expected")) { try JSON(parsing: "[1,2.]") }
    }

    @Test("parses escapes and surrogate pairs")
    func escapes() throws {
        #expect(try JSON(parsing: #""\"\\\/\b\f\n\r\t""#) == .string("\"\\/\u{8}\u{C}\n\r\t"))
        #expect(try JSON(parsing: #""a\u0041\u00e9\u20AC\uD83D\uDE00z""#) == .string("aAé€😀z"))
        #expect(try JSON(parsing: #""\u0000""#) == .string("\u{0}"))
        #expect(try JSON(parsing: #""\uDBFF\uDFFF""#) == .string("\u{10FFFF}"))
        #expect(try JSON(parsing: #""\uFFFF\uFEFF""#) == .string("\u{FFFF}\u{FEFF}"))
        #expect(try JSON(parsing: "\"\u{7F}\u{2028}\"") == .string("\u{7F}\u{2028}"))
        #expect(try JSON(parsing: #"{"\u0061":1}"#) == .object(["a": .integer(1)]))
    }

    @Test(
        "rejects half of a surrogate pair",
        arguments: [
            #""\uD800""#, #""\uDC00""#, #""\uD83Dx""#, #""\uD83D\n""#, #""\uD83D\u0041""#, #""\uD83D\uD83D\uDE00""#,
            #""\uDE00\uD83D""#, #""\ud83d\"#, #""\ud83d\u"#,
        ])
    func loneSurrogates(_ text: String) {
        #expect {
            try JSON(parsing: text)
        } throws: { error in
            if case JSONError.malformed = error { true } else { false }
        }
    }

    @Test(
        "distinguishes invalid UTF-8 from malformed text",
        arguments: [
            [0x80], [0xBF], [0xC0, 0x80], [0xC1, 0xBF], [0xC3], [0xC3, 0x28], [0xE0, 0x80, 0x80], [0xE0, 0x9F, 0xBF],
            [0xED, 0xA0, 0x80], [0xED, 0xBF, 0xBF], [0xE2, 0x82], [0xE2, 0x28, 0xA1], [0xE2, 0x82, 0x28],
            [0xF0, 0x80, 0x80, 0x80], [0xF0, 0x8F, 0xBF, 0xBF], [0xF4, 0x90, 0x80, 0x80], [0xF5, 0x80, 0x80, 0x80],
            [0xF0, 0x9F, 0x98], [0xF8, 0x88, 0x80, 0x80, 0x80], [0xFE], [0xFF],
        ] as [[UInt8]])
    func invalidUTF8(_ bytes: [UInt8]) {
        for padding in 0..<10 {
            let quoted = Array("\"\(String(repeating: "a", count: padding))".utf8) + bytes + Array("\"".utf8)
            #expect(throws: JSONError.invalidUTF8) { try JSON(parsing: quoted) }
            #expect(throws: JSONError.invalidUTF8) { try JSON(parsing: Array("no json at all".utf8) + bytes) }
        }
    }

    @Test("keeps the bounds of each UTF-8 length")
    func validUTF8() throws {
        let text = "\u{20}\u{7E}\u{80}\u{7FF}\u{800}\u{D7FF}\u{E000}\u{FFFF}\u{10000}\u{10FFFF}"
        for padding in 0..<10 {
            let padded = String(repeating: "a", count: padding) + text
            #expect(try JSON(parsing: "\"\(padded)\"") == .string(padded))
        }
    }

    @Test("bounds the nesting")
    func depth() throws {
        func nested(_ depth: Int) -> [UInt8] {
            Array(String(repeating: "[", count: depth).utf8) + Array(String(repeating: "]", count: depth).utf8)
        }
        #expect(throws: Never.self) { try JSON(parsing: nested(128)) }
        #expect(throws: JSONError.tooDeep) { try JSON(parsing: nested(129)) }
        #expect(throws: JSONError.tooDeep) { try JSON(parsing: nested(100_000)) }
        #expect(throws: JSONError.tooDeep) { try JSON(parsing: nested(1_000_000), maximumDepth: .max) }
        #expect(throws: JSONError.tooDeep) {
            try JSON(parsing: Array(String(repeating: "{\"a\":", count: 100_000).utf8))
        }
        #expect(throws: Never.self) { try JSON(parsing: "[[],[],{}]", maximumDepth: 2) }
        #expect(throws: JSONError.tooDeep) { try JSON(parsing: "[[[]]]", maximumDepth: 2) }
        #expect(throws: Never.self) { try JSON(parsing: "1", maximumDepth: 0) }
    }

    @Test("a request has at most 8,192 values")
    func manyValues() {
        func request(_ count: Int, _ value: String) -> ByteBuffer {
            ByteBuffer(string: "[\(Array(repeating: value, count: count).joined(separator: ","))]")
        }
        #expect(throws: Never.self) { try JSON(parsingRequest: request(8_191, "1")) }
        #expect(throws: Never.self) { try JSON(parsingRequest: request(4_095, #"{"a":[]}"#)) }
        for (count, value) in [(8_192, "1"), (8_192, "{}"), (4_096, "[1]"), (4_096, #"{"a":[]}"#)] {
            #expect(throws: JSONError.tooManyValues(8_192)) { try JSON(parsingRequest: request(count, value)) }
        }
        #expect(throws: Never.self) { try JSON(parsing: request(100_000, "1")) }
    }

    @Test("parses a slice of a buffer")
    func buffers() throws {
        var buffer = ByteBuffer(string: "x[\"é\\n\"]y")
        buffer.moveReaderIndex(forwardBy: 1)
        let slice = try #require(buffer.getSlice(at: 1, length: buffer.readableBytes - 1))
        #expect(try JSON(parsing: slice) == .array([.string("é\n")]))
        #expect(throws: JSONError.self) { try JSON(parsing: ByteBuffer()) }
    }

    @Test("survives random bytes")
    func anything() {
        var generator = Seeded(state: 7)
        let alphabet = Array("{}[]\",:\\u0123456789abcdefDE+-. \n\u{e9}tnrl".utf8) + [0xFF, 0xED, 0xA0, 0xF0]
        for _ in 0..<20_000 {
            let bytes = (0..<Int.random(in: 0...24, using: &generator)).map { _ in
                alphabet[Int.random(in: 0..<alphabet.count, using: &generator)]
            }
            if let value = try? JSON(parsing: bytes) { #expect(throws: Never.self) { try JSON(parsing: value.text) } }
        }
    }
}
