import Foundation

/// The words by which stored messages are found, for FTS5. They follow the server's rules
/// (`sql/functions/app/message_search.sql`): of scripts without blanks between words, every two characters that follow
/// each other are a word. The tokenizer of the index compares without case and accents.
enum SearchWords {
    /// Returns the words of a text in its order, with blanks between them.
    static func words(of text: String) -> String {
        parts(of: text).map { part in
            part.isJoined ? (pieces(of: part.text) + [String(part.text.suffix(1))]).joined(separator: " ") : part.text
        }.joined(separator: " ")
    }

    /// Returns a query of FTS5 for all words of a text, or nil if it has none. The last one may be the beginning of a
    /// word if it has three letters or more.
    static func query(for text: String) -> String? {
        let parts = parts(of: text)
        let terms = parts.enumerated().map { index, part in
            guard part.isJoined else {
                let isPrefix = index == parts.count - 1 && part.text.unicodeScalars.count >= 3
                return "\"\(part.text)\"" + (isPrefix ? "*" : "")
            }
            let pieces = pieces(of: part.text)
            return pieces.isEmpty ? "\"\(part.text)\"*" : "\"\(pieces.joined(separator: " "))\""
        }
        return terms.isEmpty ? nil : terms.joined(separator: " AND ")
    }

    /// A word, or characters of a script without blanks between words.
    private struct Part {
        var text: String
        let isJoined: Bool
    }

    private static func parts(of text: String) -> [Part] {
        let isASCII = text.utf8.allSatisfy { $0 < 0x80 }
        let normal = isASCII ? text : text.precomposedStringWithCompatibilityMapping
        var parts: [Part] = []
        var isNew = true
        for scalar in normal.unicodeScalars {
            guard isWordScalar(scalar) else {
                isNew = true
                continue
            }
            let isJoined = joined.contains { $0.contains(scalar.value) }
            let letters = isASCII ? String(scalar) : replacements[scalar] ?? String(scalar)
            if isNew || parts.last?.isJoined != isJoined {
                parts.append(Part(text: letters, isJoined: isJoined))
            } else {
                parts[parts.count - 1].text += letters
            }
            isNew = false
        }
        return parts
    }

    /// Returns each two scalars that follow each other.
    private static func pieces(of text: String) -> [String] {
        let scalars = Array(text.unicodeScalars)
        return zip(scalars, scalars.dropFirst()).map { "\($0)\($1)" }
    }

    private static func isWordScalar(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .uppercaseLetter, .lowercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .decimalNumber,
            .letterNumber, .otherNumber, .nonspacingMark, .spacingMark, .enclosingMark:
            true
        default: false
        }
    }

    /// Thai, Lao, Burmese, Khmer, kana, Han and Hangul.
    private static let joined: [ClosedRange<UInt32>] = [
        0x0e00...0x0eff, 0x1000...0x109f, 0x1780...0x17ff, 0x3005...0x30ff, 0x3400...0x9fff, 0xac00...0xd7a3,
        0x20000...0x3ffff,
    ]

    /// Letters that have no accent to remove.
    private static let replacements: [Unicode.Scalar: String] = [
        "ß": "ss", "ẞ": "ss", "æ": "ae", "Æ": "ae", "œ": "oe", "Œ": "oe", "ø": "o", "Ø": "o", "đ": "d", "Đ": "d",
        "ð": "d", "Ð": "d", "þ": "th", "Þ": "th", "ł": "l", "Ł": "l", "ı": "i",
    ]
}
