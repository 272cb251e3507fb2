extension String {
    /// Without the line end and blanks that libpq's messages finish with, on one line.
    var trimmed: String {
        split(whereSeparator: \.isNewline).map { $0.drop(while: \.isWhitespace) }.joined(separator: " ")
    }
}
