/// The width of text in terminal cells, and its truncation.
package enum TextWidth {
    /// Returns the width of a text, in cells.
    package static func of(_ text: String) -> Int {
        if text.utf8.allSatisfy({ 0x20...0x7E ~= $0 }) { return text.utf8.count }
        return text.reduce(0) { $0 + of($1) }
    }

    /// Returns the width of a character: 0, 1 or 2 cells.
    package static func of(_ character: Character) -> Int {
        var width = 0
        for scalar in character.unicodeScalars {
            // A variation selector requests the coloured picture, which is wide.
            if scalar.value == 0xFE0F { return 2 }
            width = max(width, of(scalar))
        }
        return width
    }

    /// Returns the beginning of the text that fits into `width` cells, with an ellipsis if it was cut.
    package static func truncate(_ text: String, to width: Int) -> String {
        guard of(text) > width else { return text }
        guard width > 0 else { return "" }
        var kept = ""
        var used = 0
        for character in text {
            let next = of(character)
            if used + next > width - 1 { break }
            kept.append(character)
            used += next
        }
        return kept + "…"
    }

    /// Returns the text cut or padded to exactly `width` cells.
    package static func fit(_ text: String, to width: Int) -> String {
        let cut = truncate(text, to: width)
        return cut + String(repeating: " ", count: max(0, width - of(cut)))
    }

    /// Returns the text in lines of at most `width` cells, broken between words if possible.
    package static func wrap(_ text: String, to width: Int) -> [String] {
        let width = max(1, width)
        var lines: [String] = []
        for paragraph in text.split(separator: "\n", omittingEmptySubsequences: false) {
            var line = ""
            var used = 0
            for word in words(of: paragraph) {
                let wide = of(word)
                if used + wide <= width {
                    line += word
                    used += wide
                    continue
                }
                if used > 0 {
                    lines.append(line)
                    line = ""
                    used = 0
                }
                // A blank at a line's end is dropped, and a word longer than a line is cut.
                for character in word where !(used == 0 && character == " ") {
                    let next = of(character)
                    if used + next > width {
                        lines.append(line)
                        line = ""
                        used = 0
                    }
                    line.append(character)
                    used += next
                }
            }
            lines.append(line)
        }
        return lines
    }

    /// Returns runs of blanks and of other characters, in order.
    private static func words(of paragraph: Substring) -> [String] {
        var words: [String] = []
        var wasBlank: Bool?
        for character in paragraph {
            let isBlank = character == " "
            if isBlank == wasBlank, !words.isEmpty {
                words[words.count - 1].append(character)
            } else {
                words.append(String(character))
            }
            wasBlank = isBlank
        }
        return words
    }

    private static func of(_ scalar: Unicode.Scalar) -> Int {
        let value = scalar.value
        if value < 0x300 { return value == 0xAD ? 0 : 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        if scalar.properties.isEmojiPresentation { return 2 }
        // East Asian wide and fullwidth (Unicode's EastAsianWidth.txt, joined to blocks).
        switch value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0xA4CF, 0xA960...0xA97C,
            0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE10...0xFE19, 0xFE30...0xFE6F, 0xFF01...0xFF60, 0xFFE0...0xFFE6,
            0x16FE0...0x18AFF, 0x1B000...0x1B2FB, 0x20000...0x3FFFD:
            return 2
        // Vowels and finals that join the syllable before them.
        case 0x1160...0x11FF: return 0
        default: return 1
        }
    }
}
