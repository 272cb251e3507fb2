/// Marks by which bytes can be traced: the ids of the database and the unique texts of a world.
///
/// A text's mark is `zq` and ten letters or digits. A phone number and a birth date are marks themselves.
enum Fingerprints {
    /// The marks that stand in these bytes, whatever surrounds them.
    static func find(in bytes: [UInt8]) -> Set<String> {
        var found: Set<String> = []
        var index = 0
        while index < bytes.count {
            let length: Int
            switch bytes[index] {
            case UInt8(ascii: "z"): length = word(bytes, index)
            case UInt8(ascii: "+"): length = phoneNumber(bytes, index)
            case UInt8(ascii: "\""): length = uuid(bytes, index + 1) + date(bytes, index + 1)
            // In PostgreSQL's text of an array, and in a cursor's position.
            case UInt8(ascii: ","), UInt8(ascii: "{"), UInt8(ascii: ":"): length = uuid(bytes, index + 1)
            default: length = 0
            }
            guard length > 0 else {
                index += 1
                continue
            }
            let start = bytes[index] == UInt8(ascii: "z") || bytes[index] == UInt8(ascii: "+") ? index : index + 1
            found.insert(String(decoding: bytes[start..<(start + length)], as: UTF8.self))
            index = start + length
        }
        return found
    }

    private static func word(_ bytes: [UInt8], _ start: Int) -> Int {
        guard start + 12 <= bytes.count, bytes[start + 1] == UInt8(ascii: "q") else { return 0 }
        for byte in bytes[(start + 2)..<(start + 12)] {
            guard (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || isDigit(byte) else { return 0 }
        }
        return 12
    }

    private static func phoneNumber(_ bytes: [UInt8], _ start: Int) -> Int {
        start + 14 <= bytes.count && bytes[(start + 1)..<(start + 14)].allSatisfy(isDigit) ? 14 : 0
    }

    /// Born in the last century; nothing else has such a date.
    private static func date(_ bytes: [UInt8], _ start: Int) -> Int {
        guard start + 11 <= bytes.count, bytes[start] == UInt8(ascii: "1"), bytes[start + 1] == UInt8(ascii: "9"),
            bytes[start + 4] == UInt8(ascii: "-"), bytes[start + 7] == UInt8(ascii: "-")
        else { return 0 }
        return 10
    }

    private static func uuid(_ bytes: [UInt8], _ start: Int) -> Int {
        guard start + 36 <= bytes.count, bytes[start + 8] == UInt8(ascii: "-"), bytes[start + 13] == UInt8(ascii: "-"),
            bytes[start + 18] == UInt8(ascii: "-"), bytes[start + 23] == UInt8(ascii: "-")
        else { return 0 }
        return 36
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
}
