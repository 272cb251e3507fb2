package import NIOCore

extension JSON {
    /// Parses a JSON text strictly by RFC 8259.
    ///
    /// - Parameter maximumDepth: the maximum nesting of arrays and objects: 1 permits `[]` but not `[[]]`. At most 512,
    ///   since parsing and freeing use the stack for each level.
    /// - Parameter maximumCount: the maximum number of values.
    /// - Throws: ``JSONError`` for any other bytes.
    package init(
        parsing bytes: Span<UInt8>, maximumDepth: Int = 128, maximumCount: Int = .max
    ) throws(JSONError) {
        guard isValidUTF8(bytes) else { throw .invalidUTF8 }
        var parser = JSONParser(maximumDepth: min(maximumDepth, 512), maximumCount: maximumCount)
        self = try parser.parse(bytes)
    }

    /// Parses a client's request. A value of two bytes takes forty in memory, so that their number is limited, to more
    /// than a full batch of the largest requests has.
    package init(parsingRequest buffer: ByteBuffer) throws(JSONError) {
        try self.init(parsing: buffer.readableBytesUInt8Span, maximumCount: 8_192)
    }

    /// Parses the readable bytes of a buffer.
    package init(parsing buffer: ByteBuffer, maximumDepth: Int = 128) throws(JSONError) {
        try self.init(parsing: buffer.readableBytesUInt8Span, maximumDepth: maximumDepth)
    }

    package init(parsing bytes: [UInt8], maximumDepth: Int = 128) throws(JSONError) {
        try self.init(parsing: bytes.span, maximumDepth: maximumDepth)
    }

    package init(parsing text: String, maximumDepth: Int = 128) throws(JSONError) {
        try self.init(parsing: Array(text.utf8), maximumDepth: maximumDepth)
    }
}

/// A recursive-descent parser of valid UTF-8.
///
/// The bytes are an argument of each step, since a span cannot be stored beyond its lifetime.
private struct JSONParser {
    let maximumDepth: Int
    let maximumCount: Int
    var index = 0
    var depth = 0
    var count = 0

    init(maximumDepth: Int, maximumCount: Int) {
        self.maximumDepth = maximumDepth
        self.maximumCount = maximumCount
    }

    mutating func parse(_ bytes: Span<UInt8>) throws(JSONError) -> JSON {
        skipBlanks(bytes)
        let value = try self.value(bytes)
        skipBlanks(bytes)
        guard index == bytes.count else { throw malformed("unexpected content after the value") }
        return value
    }

    private func malformed(_ reason: String) -> JSONError {
        .malformed(offset: index, reason: reason)
    }

    private mutating func skipBlanks(_ bytes: Span<UInt8>) {
        while index < bytes.count {
            switch bytes[index] {
            case 0x20, 0x09, 0x0A, 0x0D: index += 1
            default: return
            }
        }
    }

    /// Consumes the byte if it is next.
    private mutating func take(_ byte: Unicode.Scalar, _ bytes: Span<UInt8>) -> Bool {
        guard index < bytes.count, bytes[index] == UInt8(ascii: byte) else { return false }
        index += 1
        return true
    }

    private mutating func value(_ bytes: Span<UInt8>) throws(JSONError) -> JSON {
        guard index < bytes.count else { throw malformed("a value is expected") }
        count += 1
        guard count <= maximumCount else { throw .tooManyValues(maximumCount) }
        switch bytes[index] {
        case UInt8(ascii: "{"): return .object(try object(bytes))
        case UInt8(ascii: "["): return .array(try array(bytes))
        case UInt8(ascii: "\""): return .string(try string(bytes))
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): return .number(try number(bytes))
        case UInt8(ascii: "t"): return try literal("true", .bool(true), bytes)
        case UInt8(ascii: "f"): return try literal("false", .bool(false), bytes)
        case UInt8(ascii: "n"): return try literal("null", .null, bytes)
        default: throw malformed("invalid value")
        }
    }

    private mutating func literal(_ text: StaticString, _ value: JSON, _ bytes: Span<UInt8>) throws(JSONError) -> JSON {
        let count = text.utf8CodeUnitCount
        guard index + count <= bytes.count else { throw malformed("invalid value") }
        for offset in 0..<count {
            // Within the literal, whose length was checked.
            guard unsafe bytes[index + offset] == text.utf8Start[offset] else {
                throw malformed("invalid value")
            }
        }
        index += count
        return value
    }

    private mutating func enter() throws(JSONError) {
        depth += 1
        guard depth <= maximumDepth else { throw .tooDeep }
        index += 1
    }

    private mutating func array(_ bytes: Span<UInt8>) throws(JSONError) -> [JSON] {
        try enter()
        var elements: [JSON] = []
        skipBlanks(bytes)
        if !take("]", bytes) {
            while true {
                skipBlanks(bytes)
                elements.append(try value(bytes))
                skipBlanks(bytes)
                if take("]", bytes) { break }
                guard take(",", bytes) else { throw malformed("a comma or the end of the array is expected") }
            }
        }
        depth -= 1
        return elements
    }

    private mutating func object(_ bytes: Span<UInt8>) throws(JSONError) -> JSONObject {
        try enter()
        var members: [JSONObject.Member] = []
        skipBlanks(bytes)
        if !take("}", bytes) {
            while true {
                skipBlanks(bytes)
                guard index < bytes.count, bytes[index] == UInt8(ascii: "\"") else {
                    throw malformed("a member name is expected")
                }
                let name = try string(bytes)
                skipBlanks(bytes)
                guard take(":", bytes) else { throw malformed("a colon is expected") }
                skipBlanks(bytes)
                members.append(JSONObject.Member(name: name, value: try self.value(bytes)))
                skipBlanks(bytes)
                if take("}", bytes) { break }
                guard take(",", bytes) else { throw malformed("a comma or the end of the object is expected") }
            }
        }
        depth -= 1
        return JSONObject(members)
    }

    private mutating func number(_ bytes: Span<UInt8>) throws(JSONError) -> JSONNumber {
        let start = index
        _ = take("-", bytes)
        if !take("0", bytes) { try digits(bytes) }
        if take(".", bytes) { try digits(bytes) }
        if take("e", bytes) || take("E", bytes) {
            if !take("+", bytes) { _ = take("-", bytes) }
            try digits(bytes)
        }
        return JSONNumber(checked: Self.text(bytes.extracting(start..<index)))
    }

    private mutating func digits(_ bytes: Span<UInt8>) throws(JSONError) {
        let start = index
        while index < bytes.count, 0x30...0x39 ~= bytes[index] { index += 1 }
        guard index > start else { throw malformed("a digit is expected") }
    }

    /// Parses a string that begins with a quotation mark.
    private mutating func string(_ bytes: Span<UInt8>) throws(JSONError) -> String {
        index += 1
        let start = index
        try skipPlain(bytes)
        if take("\"", bytes) {
            // Most strings have no escapes and are copied once.
            return Self.text(bytes.extracting(start..<(index - 1)))
        }
        var unescaped: [UInt8] = []
        Self.append(bytes.extracting(start..<index), to: &unescaped)
        while !take("\"", bytes) {
            try escape(bytes, &unescaped)
            let run = index
            try skipPlain(bytes)
            Self.append(bytes.extracting(run..<index), to: &unescaped)
        }
        return String(decoding: unescaped, as: UTF8.self)
    }

    /// Moves to the next quotation mark or backslash.
    private mutating func skipPlain(_ bytes: Span<UInt8>) throws(JSONError) {
        while index < bytes.count {
            let byte = bytes[index]
            if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { return }
            guard byte >= 0x20 else { throw malformed("unescaped control character in a string") }
            index += 1
        }
        throw malformed("unterminated string")
    }

    private mutating func escape(_ bytes: Span<UInt8>, _ unescaped: inout [UInt8]) throws(JSONError) {
        let start = index
        guard start + 1 < bytes.count else { throw malformed("unterminated string") }
        index += 2
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
            let first = try hexDigits(bytes)
            var code = UInt32(first)
            if UTF16.isLeadSurrogate(first) {
                guard take("\\", bytes), take("u", bytes) else {
                    throw .malformed(offset: start, reason: "unpaired surrogate")
                }
                let second = try hexDigits(bytes)
                guard UTF16.isTrailSurrogate(second) else {
                    throw .malformed(offset: start, reason: "unpaired surrogate")
                }
                code = 0x10000 + (UInt32(first & 0x3FF) << 10) + UInt32(second & 0x3FF)
            }
            guard let scalar = Unicode.Scalar(code) else {
                throw .malformed(offset: start, reason: "unpaired surrogate")
            }
            unescaped.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        default:
            throw .malformed(offset: start, reason: "invalid escape")
        }
    }

    private mutating func hexDigits(_ bytes: Span<UInt8>) throws(JSONError) -> UInt16 {
        guard index + 4 <= bytes.count else { throw malformed("incomplete escape") }
        var value: UInt16 = 0
        for _ in 0..<4 {
            let byte = bytes[index]
            let digit: UInt8
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digit = byte - UInt8(ascii: "A") + 10
            default: throw malformed("an escape needs four hexadecimal digits")
            }
            value = value << 4 | UInt16(digit)
            index += 1
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
