extension String {
    /// The text on one line, without the line break and blanks at the end of libpq's messages.
    var trimmed: String {
        split(whereSeparator: \.isNewline).map { $0.drop(while: \.isWhitespace) }.joined(separator: " ")
    }
}
