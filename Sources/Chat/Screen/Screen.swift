/// The full terminal. Its previous content returns when the screen is closed.
struct Screen: ~Copyable {
    private let modes: TerminalModes?
    private let depth: ColorDepth
    private var drawn: [String] = []

    init() {
        modes = TerminalModes()
        depth = Terminal.colorDepth
        take()
    }

    deinit {
        Terminal.write(Self.leaving)
        modes?.restore()
    }

    /// Draws a frame. Only changed rows are written.
    mutating func draw(_ frame: ScreenModel.Frame) {
        var output = "\u{1B}[?25l"
        let rows = frame.rows.map { $0.encoded(depth) }
        if rows.count != drawn.count {
            output += "\u{1B}[2J"
            drawn = []
        }
        for (index, row) in rows.enumerated() where index >= drawn.count || drawn[index] != row {
            output += "\u{1B}[\(index + 1);1H\(row)\u{1B}[K"
        }
        drawn = rows
        if let cursor = frame.cursor { output += "\u{1B}[\(cursor.row + 1);\(cursor.column + 1)H\u{1B}[?25h" }
        Terminal.write(output)
    }

    /// Discards the known content, so that the next frame is drawn in full.
    mutating func invalidate() {
        drawn = []
        Terminal.write("\u{1B}[2J")
    }

    /// Restores the terminal while `body` runs.
    mutating func lend(_ body: () -> Void) {
        Terminal.write(Self.leaving)
        modes?.restore()
        body()
        take()
        invalidate()
    }

    private borrowing func take() {
        modes?.setRaw()
        Terminal.write(Self.entering)
    }

    // The alternate screen, with bracketed paste.
    private static let entering = "\u{1B}[?1049h\u{1B}[?2004h\u{1B}[2J"
    private static let leaving = "\u{1B}[?2004l\u{1B}[?25h\u{1B}[?1049l"
}
