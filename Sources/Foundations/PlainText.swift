/// Makes foreign text safe for a terminal: nothing in it moves the cursor, changes colours or reorders other text.
///
/// All terminal output passes through here last, so that nothing bypasses it.
package enum PlainText {
    /// Returns the text as one line. Line breaks become a visible sign.
    package static func line(_ text: String) -> String { clean(text, lineEnd: "\u{240A}") }

    /// Returns the text's lines, each safe for a terminal.
    package static func lines(_ text: String) -> [String] {
        clean(text, lineEnd: "\n").split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
    }

    private static func clean(_ text: String, lineEnd: Unicode.Scalar) -> String {
        // Nearly every text is plain already.
        if text.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) { return text }
        var cleaned = String.UnicodeScalarView()
        var previous: Unicode.Scalar?
        for scalar in text.unicodeScalars {
            switch scalar.value {
            case 0x0A where previous == "\r": break
            case 0x0A, 0x0D, 0x85, 0x2028, 0x2029: cleaned.append(lineEnd)
            case 0x09: cleaned.append(contentsOf: "    ".unicodeScalars)
            // The pictures of the control characters are in the same order.
            case 0x00...0x1F: cleaned.append(Unicode.Scalar(0x2400 + scalar.value) ?? "\u{FFFD}")
            case 0x7F: cleaned.append("\u{2421}")
            case 0x80...0x9F: cleaned.append("\u{FFFD}")
            // Characters that reorder or hide text.
            case 0x202A...0x202E, 0x2066...0x2069, 0x206A...0x206F, 0xFFF9...0xFFFB, 0xE0000...0xE007F: break
            default: cleaned.append(scalar)
            }
            previous = scalar
        }
        return String(cleaned)
    }
}
