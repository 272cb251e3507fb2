internal import TerminalText

/// The text that a person is typing, and where in it the cursor stands. Moves and deletes by whole characters.
struct LineEditor: Sendable, Equatable {
    private(set) var characters: [Character] = []
    private(set) var cursor = 0

    var text: String { String(characters) }
    var isEmpty: Bool { characters.isEmpty }

    /// Does what the key says; false where it is no key for an editor.
    mutating func handle(_ key: Key) -> Bool {
        switch key {
        case .text(let text), .paste(let text): insert(text)
        case .newLine: insert("\n")
        case .backspace: remove(from: cursor - 1, to: cursor)
        case .delete: remove(from: cursor, to: cursor + 1)
        case .deleteWord: remove(from: wordStart, to: cursor)
        case .deleteToStart: remove(from: 0, to: cursor)
        case .deleteToEnd: remove(from: cursor, to: characters.count)
        case .left: cursor = max(0, cursor - 1)
        case .right: cursor = min(characters.count, cursor + 1)
        case .wordLeft: cursor = wordStart
        case .wordRight: cursor = wordEnd
        case .home: cursor = 0
        case .end: cursor = characters.count
        default: return false
        }
        return true
    }

    /// Takes the text out and leaves nothing.
    mutating func take() -> String {
        defer { self = LineEditor() }
        return text
    }

    /// The part of the text to show in `width` cells, and the cell in it where the cursor stands.
    func window(width: Int) -> (text: String, cursor: Int) {
        let shown = characters.map { $0 == "\n" ? "⏎" : PlainText.line(String($0)).first ?? " " }
        var start = cursor
        var used = 0
        // As much before the cursor as there is room for, and one cell for the cursor itself.
        while start > 0, used + TextWidth.of(shown[start - 1]) < max(1, width) {
            start -= 1
            used += TextWidth.of(shown[start])
        }
        var end = cursor
        var total = used
        while end < shown.count, total + TextWidth.of(shown[end]) <= width {
            total += TextWidth.of(shown[end])
            end += 1
        }
        return (String(shown[start..<end]), used)
    }

    /// As `window`, with a dot for each character.
    func masked(width: Int) -> (text: String, cursor: Int) {
        let dots = min(characters.count, max(0, width - 1))
        return (String(repeating: "•", count: dots), min(cursor, dots))
    }

    private mutating func insert(_ text: String) {
        // Joined anew, since a typed scalar may combine with the character before it.
        let before = String(characters[..<cursor]) + text
        let joined = Array(before)
        characters = joined + characters[cursor...]
        cursor = joined.count
    }

    private mutating func remove(from start: Int, to end: Int) {
        let start = max(0, start)
        let end = min(characters.count, end)
        guard start < end else { return }
        characters.removeSubrange(start..<end)
        cursor = start
    }

    private var wordStart: Int {
        var index = cursor
        while index > 0, characters[index - 1].isWhitespace { index -= 1 }
        while index > 0, !characters[index - 1].isWhitespace { index -= 1 }
        return index
    }

    private var wordEnd: Int {
        var index = cursor
        while index < characters.count, characters[index].isWhitespace { index += 1 }
        while index < characters.count, !characters[index].isWhitespace { index += 1 }
        return index
    }
}
