/// Returns the offset of the first `\n` at or after `start`, or nil.
///
/// Most received bytes are only searched for this, so it examines eight at a time.
package func firstLineEnd(in bytes: RawSpan, from start: Int) -> Int? {
    let count = bytes.byteCount
    var offset = start
    while offset &+ 8 <= count {
        // Within bounds by the condition above; every bit pattern is an integer.
        let word = unsafe bytes.unsafeLoadUnaligned(fromByteOffset: offset, as: UInt64.self) ^ 0x0A0A_0A0A_0A0A_0A0A
        // A byte of the word is zero if it was a line feed.
        if word.marksOfZeroBytes != 0 { break }
        offset &+= 8
    }
    while offset < count {
        // Within bounds by the condition above.
        if unsafe bytes.unsafeLoad(fromByteOffset: offset, as: UInt8.self) == 0x0A { return offset }
        offset &+= 1
    }
    return nil
}

extension UInt64 {
    /// Marks the lowest zero byte, and perhaps some above it; zero if there is none.
    // Inlinable, since a call per word would cost other modules more than the work.
    @inlinable package var marksOfZeroBytes: UInt64 {
        (self &- 0x0101_0101_0101_0101) & ~self & 0x8080_8080_8080_8080
    }
}
