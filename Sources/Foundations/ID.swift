/// A UUID (RFC 9562) of a user, a conversation or a session.
///
/// It is parsed in either case and written in lower case with hyphens.
package struct ID: Hashable, Sendable, CustomStringConvertible {
    private let high: UInt64
    private let low: UInt64

    /// Fails unless the text is 32 hexadecimal digits in the groups 8-4-4-4-12.
    package init?(_ text: some StringProtocol) { self.init(utf8: text.utf8) }

    /// Fails unless the bytes are 32 hexadecimal digits in the groups 8-4-4-4-12.
    package init?(utf8 bytes: some Collection<UInt8>) {
        var high: UInt64 = 0
        var low: UInt64 = 0
        var position = 0
        for byte in bytes {
            switch position {
            case 8, 13, 18, 23:
                guard byte == UInt8(ascii: "-") else { return nil }
            case 36...:
                return nil
            default:
                guard let digit = Self.value(ofDigit: byte) else { return nil }
                if position < 18 { high = high << 4 | digit } else { low = low << 4 | digit }
            }
            position += 1
        }
        guard position == 36 else { return nil }
        self.high = high
        self.low = low
    }

    /// Returns a random UUID (version 4).
    package static func random() -> ID {
        ID(
            high: UInt64.random(in: .min ... .max) & ~0xF000 | 0x4000,
            low: UInt64.random(in: .min ... .max) & ~(0xC000 << 48) | 0x8000 << 48)
    }

    /// Creates a UUID from its two halves.
    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    package var description: String {
        var text: [UInt8] = []
        text.reserveCapacity(36)
        for position in 0..<32 {
            if position == 8 || position == 12 || position == 16 || position == 20 { text.append(UInt8(ascii: "-")) }
            let half = position < 16 ? high : low
            let digit = UInt8(truncatingIfNeeded: half >> UInt64(60 - position % 16 * 4) & 0xF)
            text.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
        }
        return String(decoding: text, as: UTF8.self)
    }

    /// Returns the value of a hexadecimal digit, or nil for any other byte.
    package static func value(ofDigit byte: UInt8) -> UInt64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a") + 10)
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(byte - UInt8(ascii: "A") + 10)
        default: nil
        }
    }
}
