/// Returns true if the bytes are UTF-8 (RFC 3629), without overlong forms, surrogates or code points beyond U+10FFFF.
package func isValidUTF8(_ bytes: Span<UInt8>) -> Bool {
    let count = bytes.count
    var index = 0
    while index < count {
        // Eight ASCII bytes at once, which most lines consist of.
        while index &+ 8 <= count {
            // Within bounds by the condition above; every bit pattern is an integer.
            let word = unsafe bytes.bytes.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self)
            if word & 0x8080_8080_8080_8080 != 0 { break }
            index &+= 8
        }
        if index == count { return true }
        let lead = bytes[index]
        if lead < 0x80 {
            index += 1
            continue
        }
        let length: Int
        // The second byte's range excludes overlong forms, surrogates and code points beyond U+10FFFF.
        var second: ClosedRange<UInt8> = 0x80...0xBF
        switch lead {
        case 0xC2...0xDF: length = 2
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: length = 3
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: length = 4
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: return false
        }
        guard index + length <= count, second.contains(bytes[index + 1]) else { return false }
        for next in (index + 2)..<(index + length) where bytes[next] & 0xC0 != 0x80 { return false }
        index += length
    }
    return true
}
