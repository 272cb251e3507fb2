import NIOCore
import WireProtocol

/// A line from the server: its kind, found without parsing its payload.
///
/// The scanner finds the members of the outermost object by name. Their values stay bytes until they are needed.
struct ServerLine {
    enum Kind {
        /// A response to the request with this number.
        case answer(id: Int)
        case notification(method: String)
        /// The responses of a batch, a response without a number, or not JSON-RPC.
        case other
    }

    var kind: Kind
    /// The result's bytes, or nil for an error.
    var result: ByteBuffer?
    /// The error's bytes, or nil for a result.
    var error: ByteBuffer?
    /// The notification's params.
    var params: ByteBuffer?

    init(_ line: ByteBuffer) {
        var scanner = Scanner(count: line.readableBytes)
        var id: Range<Int>?
        var method: Range<Int>?
        var result: Range<Int>?
        var error: Range<Int>?
        var params: Range<Int>?
        let span = line.readableBytesUInt8Span
        let isWhole = scanner.members(span) { name, value in
            if Self.equals(span, name, "id") {
                id = value
            } else if Self.equals(span, name, "method") {
                method = value
            } else if Self.equals(span, name, "result") {
                result = value
            } else if Self.equals(span, name, "error") {
                error = value
            } else if Self.equals(span, name, "params") {
                params = value
            }
        }
        func slice(_ range: Range<Int>?) -> ByteBuffer? {
            range.flatMap { line.getSlice(at: line.readerIndex + $0.lowerBound, length: $0.count) }
        }
        self.result = slice(result)
        self.error = slice(error)
        self.params = slice(params)
        if !isWhole {
            kind = .other
        } else if let method, id == nil, let name = slice(method.dropFirst().dropLast()) {
            kind = .notification(method: String(buffer: name))
        } else if let id, result != nil || error != nil, let number = Self.number(span, id) {
            kind = .answer(id: number)
        } else {
            kind = .other
        }
    }

    private static func equals(_ bytes: Span<UInt8>, _ range: Range<Int>, _ name: StaticString) -> Bool {
        guard range.count == name.utf8CodeUnitCount else { return false }
        for offset in 0..<range.count {
            // The index is within the literal, which is as long as the range.
            guard unsafe bytes[range.lowerBound + offset] == name.utf8Start[offset] else { return false }
        }
        return true
    }

    private static func number(_ bytes: Span<UInt8>, _ range: Range<Int>) -> Int? {
        guard range.count <= 18 else { return nil }
        var value = 0
        for index in range {
            guard 0x30...0x39 ~= bytes[index] else { return nil }
            value = value * 10 + Int(bytes[index] - 0x30)
        }
        return value
    }
}

extension Range<Int> {
    fileprivate func dropFirst() -> Range<Int> { Swift.min(lowerBound + 1, upperBound)..<upperBound }
    fileprivate func dropLast() -> Range<Int> { lowerBound..<Swift.max(lowerBound, upperBound - 1) }
}

/// A scanner over the members of the outermost object. It assumes JSON: other bytes make `members` return false, and
/// are never read beyond their end.
private struct Scanner {
    let count: Int
    var index = 0

    init(count: Int) { self.count = count }

    /// Calls `body` with the ranges of each member's name (without quotes) and value. Returns false if the object is
    /// not complete.
    mutating func members(_ bytes: Span<UInt8>, _ body: (Range<Int>, Range<Int>) -> Void) -> Bool {
        skipBlanks(bytes)
        guard take("{", bytes) else { return false }
        skipBlanks(bytes)
        if take("}", bytes) { return true }
        while true {
            skipBlanks(bytes)
            let name = index
            guard string(bytes) else { return false }
            let nameEnd = index
            skipBlanks(bytes)
            guard take(":", bytes) else { return false }
            skipBlanks(bytes)
            let value = index
            guard skipValue(bytes) else { return false }
            body((name + 1)..<(nameEnd - 1), value..<index)
            skipBlanks(bytes)
            if take("}", bytes) { return true }
            guard take(",", bytes) else { return false }
        }
    }

    private mutating func skipBlanks(_ bytes: Span<UInt8>) {
        while index < count {
            switch bytes[index] {
            case 0x20, 0x09, 0x0A, 0x0D: index += 1
            default: return
            }
        }
    }

    private mutating func take(_ scalar: Unicode.Scalar, _ bytes: Span<UInt8>) -> Bool {
        guard index < count, bytes[index] == UInt8(ascii: scalar) else { return false }
        index += 1
        return true
    }

    private mutating func string(_ bytes: Span<UInt8>) -> Bool {
        guard take("\"", bytes) else { return false }
        while index < count {
            skipPlain(bytes)
            guard index < count else { return false }
            let byte = bytes[index]
            index += 1
            if byte == UInt8(ascii: "\"") { return true }
            if byte == UInt8(ascii: "\\") { index += 1 }
        }
        return false
    }

    /// Skips to the next quote or backslash, eight bytes at a time, since most of a line is in strings.
    private mutating func skipPlain(_ bytes: Span<UInt8>) {
        while index &+ 8 <= count {
            // Within bounds by the condition above. Every bit pattern is an integer. The first byte is the lowest.
            let word = UInt64(
                littleEndian: unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self))
            let quotes = (word ^ 0x2222_2222_2222_2222).marksOfZeroBytes
            let found = quotes | (word ^ 0x5C5C_5C5C_5C5C_5C5C).marksOfZeroBytes
            if found != 0 {
                index &+= found.trailingZeroBitCount / 8
                return
            }
            index &+= 8
        }
    }

    private mutating func skipValue(_ bytes: Span<UInt8>) -> Bool {
        guard index < count else { return false }
        var depth = 0
        while index < count {
            switch bytes[index] {
            case UInt8(ascii: "\""):
                guard string(bytes) else { return false }
                if depth == 0 { return true }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                index += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // At depth 0 this is the end of the object around a number or literal.
                if depth == 0 { return true }
                depth -= 1
                index += 1
                if depth == 0 { return true }
            case UInt8(ascii: ",") where depth == 0, 0x20 where depth == 0, 0x09 where depth == 0:
                return true
            default:
                index += 1
            }
        }
        return false
    }
}
