extension [UInt8] {
    /// Bytes written as two hexadecimal digits each, in either case; nil for anything else.
    init?(hexadecimal text: some StringProtocol) {
        let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        self = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

extension Sequence<UInt8> {
    /// Two lower-case digits a byte.
    var hexadecimal: String {
        map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}
