extension StringProtocol {
    /// The text with only A to Z in lower case, as names in HTTP are compared. `lowercased()` would make a Kelvin sign
    /// a k.
    package var lowercasedASCII: String {
        let capitals = UInt8(ascii: "A")...UInt8(ascii: "Z")
        return String(decoding: utf8.map { capitals.contains($0) ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}
