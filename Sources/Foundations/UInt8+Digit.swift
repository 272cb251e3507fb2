extension UInt8 {
    /// True for the ASCII digits 0 to 9.
    package var isDigit: Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) }
}
