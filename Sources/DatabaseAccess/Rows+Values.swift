package import Foundations
package import NIOCore
package import Postgres
package import WireProtocol

extension Rows {
    /// Returns a value's bytes, empty for null.
    package func buffer(_ row: Int, _ column: Int) -> ByteBuffer {
        withBytes(row, column) { bytes in
            var buffer = ByteBuffer()
            if let bytes { buffer.writeBytes(bytes) }
            return buffer
        }
    }

    /// Returns a UUID, or nil for null.
    package func id(_ row: Int, _ column: Int) -> ID? {
        withBytes(row, column) { bytes in
            guard let bytes else { return nil }
            return unsafe bytes.withUnsafeBytes { unsafe ID(utf8: $0) }
        }
    }

    /// Returns an array of UUIDs, or nil for null.
    package func ids(_ row: Int, _ column: Int) -> [ID]? {
        withBytes(row, column) { bytes in
            guard let bytes else { return nil }
            return unsafe bytes.withUnsafeBytes { unsafe ArrayText($0).compactMap { unsafe ID(utf8: $0) } }
        }
    }

    /// Returns a packed array of UUIDs, or nil for null or invalid text.
    package func packedIDs(_ row: Int, _ column: Int) -> [ID]? {
        withBytes(row, column) { bytes in
            guard let bytes else { return nil }
            return unsafe bytes.withUnsafeBytes { unsafe [ID](packed: $0) }
        }
    }

    /// Returns an array of numbers, or nil for null.
    package func numbers(_ row: Int, _ column: Int) -> [Int64]? {
        withBytes(row, column) { bytes in
            guard let bytes else { return nil }
            return unsafe bytes.withUnsafeBytes { unsafe ArrayText($0).compactMap { unsafe Int64(utf8: $0) } }
        }
    }

    /// Returns the second column's bytes in the order of the places in the first, which are counted from 1. Nil for a
    /// place without a row.
    package func buffersByPlace(_ count: Int) -> [ByteBuffer?] {
        var buffers: [ByteBuffer?] = Array(repeating: nil, count: count)
        for row in 0..<self.count {
            guard let place = text(row, 0).flatMap({ Int($0) }), buffers.indices ~= place - 1 else { continue }
            buffers[place - 1] = buffer(row, 1)
        }
        return buffers
    }

    /// Returns the number that a function returned.
    package func count(of function: String) throws(ProtocolError) -> Int {
        guard count == 1, let number = text(0, 0).flatMap({ Int($0) }) else {
            throw .fault("\(function) did not return a number")
        }
        return number
    }
}

/// The elements of a PostgreSQL array of plain values, as bytes of its text: `{a,b}`.
///
/// It supports no quotes and no nested arrays, which PostgreSQL does not write for ids, numbers and booleans. A poll
/// may return a hundred thousand elements, for which characters and strings would be too slow.
struct ArrayText<Bytes: RandomAccessCollection<UInt8>>: Sequence, IteratorProtocol {
    private var rest: Bytes.SubSequence

    init(_ text: Bytes) { rest = text.dropFirst().dropLast() }

    mutating func next() -> Bytes.SubSequence? {
        guard !rest.isEmpty else { return nil }
        let end = rest.firstIndex(of: UInt8(ascii: ",")) ?? rest.endIndex
        defer { rest = end == rest.endIndex ? rest[end...] : rest[rest.index(after: end)...] }
        return rest[..<end]
    }
}

extension Int64 {
    /// Parses decimal digits with an optional minus. Nil for anything else or beyond the type's range.
    package init?(utf8 bytes: some Collection<UInt8>) {
        let isNegative = bytes.first == UInt8(ascii: "-")
        let digits = isNegative ? bytes.dropFirst() : bytes.dropFirst(0)
        guard !digits.isEmpty else { return nil }
        var value: Int64 = 0
        for byte in digits {
            guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
            let digit = Int64(byte - UInt8(ascii: "0"))
            let (tenfold, isTooLong) = value.multipliedReportingOverflow(by: 10)
            let (next, isTooLarge) =
                isNegative ? tenfold.subtractingReportingOverflow(digit) : tenfold.addingReportingOverflow(digit)
            guard !isTooLong, !isTooLarge else { return nil }
            value = next
        }
        self = value
    }
}
