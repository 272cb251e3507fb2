/// The offset of the first `\n` at or after one; nil where there is none.
///
/// Most bytes that come are looked at just for this, so it takes eight at a time.
package func firstLineEnd(in bytes: RawSpan, from start: Int) -> Int? {
    let count = bytes.byteCount
    var offset = start
    while offset &+ 8 <= count {
        // Within bounds by the condition above; every bit pattern is an integer.
        let word = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self) ^ 0x0A0A_0A0A_0A0A_0A0A
        // Not zero where a byte of the word is zero, that is, where it was a line end.
        if (word &- 0x0101_0101_0101_0101) & ~word & 0x8080_8080_8080_8080 != 0 { break }
        offset &+= 8
    }
    while offset < count {
        // Within bounds by the condition above.
        if unsafe bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self) == 0x0A { return offset }
        offset &+= 1
    }
    return nil
}
