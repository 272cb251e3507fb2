public import NIOCore

extension JSON {
    /// Parses a JSON text, strictly by RFC 8259.
    ///
    /// - Parameter maximumDepth: how deep arrays and objects may be nested: 1 admits `[]` and no `[[]]`; 512 at most,
    ///   since the parser, like all that later walks or frees the value, uses the stack for each level.
    /// - Throws: ``JSONError``; never more than that, whatever the bytes are.
    public init(parsing bytes: Span<UInt8>, maximumDepth: Int = 128) throws(JSONError) {
        guard isValidUTF8(bytes) else { throw .invalidUTF8 }
        var parser = JSONParser(maximumDepth: min(maximumDepth, 512))
        self = try parser.parse(bytes)
    }

    /// Parses the readable bytes of a buffer.
    public init(parsing buffer: ByteBuffer, maximumDepth: Int = 128) throws(JSONError) {
        try self.init(parsing: buffer.readableBytesUInt8Span, maximumDepth: maximumDepth)
    }

    public init(parsing bytes: [UInt8], maximumDepth: Int = 128) throws(JSONError) {
        try self.init(parsing: bytes.span, maximumDepth: maximumDepth)
    }

    public init(parsing text: String, maximumDepth: Int = 128) throws(JSONError) {
        try self.init(parsing: Array(text.utf8), maximumDepth: maximumDepth)
    }
}

/// A recursive descent over bytes that are known to be UTF-8.
///
/// The bytes are an argument of each step, not a member: a span cannot outlive what it views.
private struct JSONParser {
    let maximumDepth: Int
    var index = 0
    var depth = 0

    init(maximumDepth: Int) {
        self.maximumDepth = maximumDepth
    }

    mutating func parse(_ bytes: Span<UInt8>) throws(JSONError) -> JSON {
        self.skipBlanks(bytes)
        let value = try self.value(bytes)
        self.skipBlanks(bytes)
        guard self.index == bytes.count else { throw self.malformed("something follows the value") }
        return value
    }

    private func malformed(_ reason: String) -> JSONError {
        .malformed(offset: self.index, reason: reason)
    }

    private mutating func skipBlanks(_ bytes: Span<UInt8>) {
        while self.index < bytes.count {
            switch bytes[self.index] {
            case 0x20, 0x09, 0x0A, 0x0D: self.index += 1
            default: return
            }
        }
    }

    /// Takes the byte if it is the next one.
    private mutating func take(_ byte: Unicode.Scalar, _ bytes: Span<UInt8>) -> Bool {
        guard self.index < bytes.count, bytes[self.index] == UInt8(ascii: byte) else { return false }
        self.index += 1
        return true
    }

    private mutating func value(_ bytes: Span<UInt8>) throws(JSONError) -> JSON {
        guard self.index < bytes.count else { throw self.malformed("a value is missing") }
        switch bytes[self.index] {
        case UInt8(ascii: "{"): return .object(try self.object(bytes))
        case UInt8(ascii: "["): return .array(try self.array(bytes))
        case UInt8(ascii: "\""): return .string(try self.string(bytes))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try self.number(bytes))
        case UInt8(ascii: "t"): return try self.literal("true", .bool(true), bytes)
        case UInt8(ascii: "f"): return try self.literal("false", .bool(false), bytes)
        case UInt8(ascii: "n"): return try self.literal("null", .null, bytes)
        default: throw self.malformed("no value begins like this")
        }
    }

    private mutating func literal(_ text: StaticString, _ value: JSON, _ bytes: Span<UInt8>) throws(JSONError) -> JSON {
        let count = text.utf8CodeUnitCount
        guard self.index + count <= bytes.count else { throw self.malformed("no value begins like this") }
        for offset in 0..<count {
            // Within the literal, whose length was just asked for.
            guard unsafe bytes[self.index + offset] == text.utf8Start[offset] else {
                throw self.malformed("no value begins like this")
            }
        }
        self.index += count
        return value
    }

    private mutating func enter() throws(JSONError) {
        self.depth += 1
        guard self.depth <= self.maximumDepth else { throw .tooDeep }
        self.index += 1
    }

    private mutating func array(_ bytes: Span<UInt8>) throws(JSONError) -> [JSON] {
        try self.enter()
        var elements: [JSON] = []
        self.skipBlanks(bytes)
        if !self.take("]", bytes) {
            while true {
                self.skipBlanks(bytes)
                elements.append(try self.value(bytes))
                self.skipBlanks(bytes)
                if self.take("]", bytes) { break }
                guard self.take(",", bytes) else { throw self.malformed("a comma or the array's end is missing") }
            }
        }
        self.depth -= 1
        return elements
    }

    private mutating func object(_ bytes: Span<UInt8>) throws(JSONError) -> JSONObject {
        try self.enter()
        var members: [JSONObject.Member] = []
        self.skipBlanks(bytes)
        if !self.take("}", bytes) {
            while true {
                self.skipBlanks(bytes)
                guard self.index < bytes.count, bytes[self.index] == UInt8(ascii: "\"") else {
                    throw self.malformed("a member's name is missing")
                }
                let name = try self.string(bytes)
                self.skipBlanks(bytes)
                guard self.take(":", bytes) else { throw self.malformed("a colon is missing") }
                self.skipBlanks(bytes)
                members.append(JSONObject.Member(name: name, value: try self.value(bytes)))
                self.skipBlanks(bytes)
                if self.take("}", bytes) { break }
                guard self.take(",", bytes) else { throw self.malformed("a comma or the object's end is missing") }
            }
        }
        self.depth -= 1
        return JSONObject(members)
    }

    private mutating func number(_ bytes: Span<UInt8>) throws(JSONError) -> JSONNumber {
        let start = self.index
        _ = self.take("-", bytes)
        if !self.take("0", bytes) { try self.digits(bytes) }
        if self.take(".", bytes) { try self.digits(bytes) }
        if self.take("e", bytes) || self.take("E", bytes) {
            if !self.take("+", bytes) { _ = self.take("-", bytes) }
            try self.digits(bytes)
        }
        return JSONNumber(checked: Self.text(bytes.extracting(start..<self.index)))
    }

    private mutating func digits(_ bytes: Span<UInt8>) throws(JSONError) {
        let start = self.index
        while self.index < bytes.count, 0x30...0x39 ~= bytes[self.index] { self.index += 1 }
        guard self.index > start else { throw self.malformed("a digit is missing") }
    }

    /// Parses a string whose opening quotation mark is the next byte.
    private mutating func string(_ bytes: Span<UInt8>) throws(JSONError) -> String {
        self.index += 1
        let start = self.index
        try self.skipPlain(bytes)
        if self.take("\"", bytes) {
            // Most strings have no escape and are copied once, as they are.
            return Self.text(bytes.extracting(start..<(self.index - 1)))
        }
        var unescaped: [UInt8] = []
        Self.append(bytes.extracting(start..<self.index), to: &unescaped)
        while !self.take("\"", bytes) {
            try self.escape(bytes, &unescaped)
            let run = self.index
            try self.skipPlain(bytes)
            Self.append(bytes.extracting(run..<self.index), to: &unescaped)
        }
        return String(decoding: unescaped, as: UTF8.self)
    }

    /// Moves to the next quotation mark or backslash.
    private mutating func skipPlain(_ bytes: Span<UInt8>) throws(JSONError) {
        while self.index < bytes.count {
            let byte = bytes[self.index]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return }
            guard byte >= 0x20 else { throw self.malformed("a control character stands in a string") }
            self.index += 1
        }
        throw self.malformed("the string does not end")
    }

    private mutating func escape(_ bytes: Span<UInt8>, _ unescaped: inout [UInt8]) throws(JSONError) {
        let start = self.index
        guard start + 1 < bytes.count else { throw self.malformed("the string does not end") }
        self.index += 2
        switch bytes[start + 1] {
        case UInt8(ascii: "\""): unescaped.append(UInt8(ascii: "\""))
        case UInt8(ascii: "\\"): unescaped.append(UInt8(ascii: "\\"))
        case UInt8(ascii: "/"): unescaped.append(UInt8(ascii: "/"))
        case UInt8(ascii: "b"): unescaped.append(0x08)
        case UInt8(ascii: "f"): unescaped.append(0x0C)
        case UInt8(ascii: "n"): unescaped.append(0x0A)
        case UInt8(ascii: "r"): unescaped.append(0x0D)
        case UInt8(ascii: "t"): unescaped.append(0x09)
        case UInt8(ascii: "u"):
            let first = try self.hexDigits(bytes)
            var code = UInt32(first)
            if UTF16.isLeadSurrogate(first) {
                guard self.take("\\", bytes), self.take("u", bytes) else {
                    throw .malformed(offset: start, reason: "half of a surrogate pair stands alone")
                }
                let second = try self.hexDigits(bytes)
                guard UTF16.isTrailSurrogate(second) else {
                    throw .malformed(offset: start, reason: "half of a surrogate pair stands alone")
                }
                code = 0x10000 + (UInt32(first & 0x3FF) << 10) + UInt32(second & 0x3FF)
            }
            guard let scalar = Unicode.Scalar(code) else {
                throw .malformed(offset: start, reason: "half of a surrogate pair stands alone")
            }
            unescaped.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        default:
            throw .malformed(offset: start, reason: "there is no such escape")
        }
    }

    private mutating func hexDigits(_ bytes: Span<UInt8>) throws(JSONError) -> UInt16 {
        guard self.index + 4 <= bytes.count else { throw self.malformed("the escape is cut short") }
        var value: UInt16 = 0
        for _ in 0..<4 {
            let byte = bytes[self.index]
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: throw self.malformed("an escape has four hexadecimal digits")
            }
            value = value << 4 | UInt16(digit)
            self.index += 1
        }
        return value
    }

    private static func text(_ bytes: Span<UInt8>) -> String {
        // The pointer does not leave the closure; String copies.
        unsafe bytes.withUnsafeBufferPointer { unsafe String(decoding: $0, as: UTF8.self) }
    }

    private static func append(_ bytes: Span<UInt8>, to unescaped: inout [UInt8]) {
        // The pointer does not leave the closure; Array copies.
        unsafe bytes.withUnsafeBufferPointer { unsafe unescaped.append(contentsOf: $0) }
    }
}
