extension Sequence<UInt8> {
    /// The bytes as lower-case hexadecimal digits.
    var hexadecimal: String { map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
}

extension [UInt8] {
    /// Parses pairs of hexadecimal digits. Nil for anything else.
    init?(hexadecimal text: String) {
        let digits = text.utf8.map { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count.isMultiple(of: 2) else { return nil }
        self = []
        for index in stride(from: 0, to: digits.count, by: 2) {
            guard let high = digits[index], let low = digits[index + 1] else { return nil }
            append(UInt8(high << 4 | low))
        }
    }
}
