import Foundations

extension [ID] {
    /// Parses an array of UUIDs in PostgreSQL's binary form (`array_send`), in hexadecimal.
    ///
    /// The form has the number of dimensions, a flag and the type, then each dimension's size and first index, and each
    /// element's length and bytes; numbers have four bytes. Nil for anything but one dimension of UUIDs or an empty
    /// array.
    init?(packed text: some RandomAccessCollection<UInt8>) {
        var rest = HexReader(text[...])
        guard let dimensions = rest.number(digits: 8), rest.number(digits: 16) != nil else { return nil }
        self = []
        if dimensions == 1 {
            guard let count = rest.number(digits: 8), rest.number(digits: 8) != nil, text.count == 40 + 40 * count
            else {
                return nil
            }
            reserveCapacity(Int(count))
            for _ in 0..<count {
                guard rest.number(digits: 8) == 16, let high = rest.number(digits: 16),
                    let low = rest.number(digits: 16)
                else { return nil }
                append(ID(high: high, low: low))
            }
        }
        guard dimensions <= 1, rest.isAtEnd else { return nil }
    }
}

/// Parses fixed-length numbers from hexadecimal text.
private struct HexReader<Bytes: RandomAccessCollection<UInt8>> where Bytes.SubSequence == Bytes {
    private var rest: Bytes

    init(_ text: Bytes) { rest = text }

    var isAtEnd: Bool { rest.isEmpty }

    /// Returns the next number, or nil if there are fewer digits.
    mutating func number(digits: Int) -> UInt64? {
        guard rest.count >= digits else { return nil }
        var value: UInt64 = 0
        for byte in rest.prefix(digits) {
            guard let digit = ID.value(ofDigit: byte) else { return nil }
            value = value << 4 | digit
        }
        rest = rest.dropFirst(digits)
        return value
    }
}
