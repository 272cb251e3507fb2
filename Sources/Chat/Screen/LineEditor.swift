import Foundations

/// The text that the user types, and the position of the cursor. Moves and deletes by whole characters.
struct LineEditor: Sendable, Equatable {
    private(set) var characters: [Character] = []
    private(set) var cursor = 0

    var text: String { String(characters) }
    var isEmpty: Bool { characters.isEmpty }

    /// Handles a key. Returns false if it is no editing key.
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
        case .home: cursor = characters[..<cursor].lastIndex(of: "\n").map { $0 + 1 } ?? 0
        case .end: cursor = characters[cursor...].firstIndex(of: "\n") ?? characters.count
        default: return false
        }
        return true
    }

    /// Returns the text and clears it.
    mutating func take() -> String {
        defer { self = LineEditor() }
        return text
    }

    /// Replaces the characters before the cursor.
    mutating func replace(last count: Int, with text: String) {
        remove(from: cursor - count, to: cursor)
        insert(text)
    }

    /// The text in rows of at most `width` cells, and the row and cell of the cursor.
    ///
    /// The cursor may be behind the last cell of a row.
    func layout(width: Int) -> (rows: [String], cursor: (row: Int, column: Int)) {
        let rows = rows(width: width)
        let row = cursorRow(in: rows)
        return (rows.map { String(characters[$0].map(Self.shown)) }, (row, cells(rows[row].lowerBound..<cursor)))
    }

    /// Moves the cursor to another row of the layout. Returns false if there is none.
    mutating func moveRow(by step: Int, width: Int) -> Bool {
        let rows = rows(width: width)
        let row = cursorRow(in: rows)
        guard rows.indices.contains(row + step) else { return false }
        let column = cells(rows[row].lowerBound..<cursor)
        let target = rows[row + step]
        cursor = target.lowerBound
        // A wrapped row ends before the character that begins the next.
        let isWrapped = row + step + 1 < rows.count && rows[row + step + 1].lowerBound == target.upperBound
        let last = isWrapped ? target.upperBound - 1 : target.upperBound
        while cursor < last, cells(target.lowerBound..<(cursor + 1)) <= column { cursor += 1 }
        return true
    }

    /// The characters of each row, without the line breaks. A row ends at a line break, else behind its last blank.
    private func rows(width: Int) -> [Range<Int>] {
        var rows: [Range<Int>] = []
        var start = 0
        var used = 0
        var word = 0
        for (index, character) in characters.enumerated() {
            if character == "\n" {
                rows.append(start..<index)
                (start, used, word) = (index + 1, 0, index + 1)
                continue
            }
            let next = cells(index..<(index + 1))
            while used + next > width, index > start {
                let cut = word > start ? word : index
                rows.append(start..<cut)
                (start, used, word) = (cut, cells(cut..<index), cut)
            }
            used += next
            if character == " " { word = index + 1 }
        }
        return rows + [start..<characters.count]
    }

    private func cursorRow(in rows: [Range<Int>]) -> Int { rows.lastIndex { $0.lowerBound <= cursor } ?? 0 }

    private func cells(_ range: Range<Int>) -> Int {
        characters[range].reduce(0) { $0 + TextWidth.of(Self.shown($1)) }
    }

    /// Returns a character that is safe to show in a terminal.
    private static func shown(_ character: Character) -> Character {
        character == "\n" ? "⏎" : PlainText.line(String(character)).first ?? " "
    }

    /// The part of the text to show in one row of `width` cells, and the cell of the cursor in it.
    func window(width: Int) -> (text: String, cursor: Int) {
        let shown = characters.map(Self.shown)
        var start = cursor
        var used = 0
        // As much text before the cursor as fits, and one cell for the cursor.
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

    /// Returns the window with a dot for each character.
    func masked(width: Int) -> (text: String, cursor: Int) {
        let dots = min(characters.count, max(0, width - 1))
        return (String(repeating: "•", count: dots), min(cursor, dots))
    }

    private mutating func insert(_ text: String) {
        // Joined again, since a typed scalar may combine with the character before it.
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
