/// A JSON number as it was written: its value may exceed the range or precision of any machine type.
package struct JSONNumber: Sendable, Equatable {
    /// The text of the number, by RFC 8259's grammar.
    package let text: String

    /// - Parameter text: a number that the parser has validated.
    package init(checked text: String) {
        self.text = text
    }

    package init(_ value: some BinaryInteger) {
        text = String(value)
    }

    /// The exact value if it is an integer that fits, however it is written (`20.0`, `2e1` and `-0` are integers),
    /// otherwise nil.
    package var integer: Int64? {
        guard let decimal = Decimal(text), decimal.isInteger else { return nil }
        // An Int64 has at most 19 digits. A larger exponent is out of range and never looped over.
        guard decimal.digits.count + decimal.exponent <= 19 else { return nil }
        var value: Int64 = 0
        // Negative accumulation, since the smallest Int64 has no positive counterpart.
        for digit in decimal.digits + [UInt8](repeating: 0, count: decimal.exponent) {
            let (shifted, overflowed) = value.multipliedReportingOverflow(by: 10)
            let (next, passed) = shifted.subtractingReportingOverflow(Int64(digit))
            if overflowed || passed { return nil }
            value = next
        }
        if decimal.isNegative { return value }
        return value == .min ? nil : -value
    }

    /// True if the value is an integer of any size.
    package var isInteger: Bool {
        Decimal(text)?.isInteger ?? false
    }

    /// The nearest double, or nil if it would be infinite.
    package var double: Double? {
        guard let value = Double(text), value.isFinite else { return nil }
        return value
    }
}

/// A decimal number as digits and a power of ten, without zeros at either end; no digits for zero.
private struct Decimal {
    var isNegative = false
    var digits: [UInt8] = []
    var exponent = 0

    var isInteger: Bool { exponent >= 0 }

    /// Parses a number. Nil only if the exponent is out of range and the digits are not zero.
    init?(_ text: String) {
        var written = 0
        var isExponentNegative = false
        enum Part { case integer, fraction, exponent }
        var part = Part.integer
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "-") where part == .exponent: isExponentNegative = true
            case UInt8(ascii: "-"): isNegative = true
            case UInt8(ascii: "+"): break
            case UInt8(ascii: "."): part = .fraction
            case UInt8(ascii: "e"), UInt8(ascii: "E"): part = .exponent
            default:
                let digit = byte - UInt8(ascii: "0")
                switch part {
                case .exponent:
                    // Clamped to prevent overflow: no text is long enough to compensate for such an exponent.
                    written = min(written * 10 + Int(digit), 1 << 40)
                case .integer, .fraction:
                    if part == .fraction { self.exponent -= 1 }
                    if digit != 0 || !digits.isEmpty { digits.append(digit) }
                }
            }
        }
        self.exponent += isExponentNegative ? -written : written
        while digits.last == 0 {
            digits.removeLast()
            self.exponent += 1
        }
        if digits.isEmpty { self.exponent = 0 }
    }
}
