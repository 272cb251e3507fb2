import Foundations

/// The style of a text.
struct Style: Sendable, Equatable {
    enum Color: Int, Sendable {
        case red = 31
        case green, yellow, blue, magenta, cyan
    }

    var isBold = false
    var isDim = false
    var isInverse = false
    var color: Color?
    /// The colour behind the text; the letters are then black or white, whichever is read better on it.
    var fill: RGB?

    /// Returns the terminal's codes (ECMA-48, "select graphic rendition").
    fileprivate func codes(_ depth: ColorDepth) -> [String] {
        guard depth != .none else { return [] }
        var codes: [String] = []
        if isBold { codes.append("1") }
        if isDim { codes.append("2") }
        // Without colours, a filled text is shown inverse.
        if isInverse || fill != nil && depth == .monochrome { codes.append("7") }
        guard depth != .monochrome else { return codes }
        if let color { codes.append(String(color.rawValue)) }
        guard let fill else { return codes }
        switch depth {
        case .full: codes.append("48;2;\(fill.red);\(fill.green);\(fill.blue)")
        case .indexed, .monochrome, .none: codes.append("48;5;\(fill.indexed)")
        }
        // Black and white of the 256, which no theme changes.
        codes.append("38;5;\(fill.isLight ? 16 : 231)")
        return codes
    }

    static let plain = Style()
    static let bold = Style(isBold: true)
    static let dim = Style(isDim: true)
    static let inverse = Style(isInverse: true)
    static func color(_ color: Color, bold: Bool = false) -> Style { Style(isBold: bold, color: color) }
}

/// A row of the screen, as styled texts.
struct StyledLine: Sendable, Equatable {
    struct Span: Sendable, Equatable {
        var text: String
        var style: Style
    }

    private(set) var spans: [Span] = []

    init() {}

    init(_ text: String, _ style: Style = .plain) { append(text, style) }

    /// The row without its styles.
    var text: String { spans.map(\.text).joined() }

    /// The width in cells.
    var width: Int { spans.reduce(0) { $0 + TextWidth.of($1.text) } }

    mutating func append(_ text: String, _ style: Style = .plain) {
        guard !text.isEmpty else { return }
        spans.append(Span(text: PlainText.line(text), style: style))
    }

    mutating func append(_ line: StyledLine) { spans += line.spans }

    mutating func append(_ chip: AvatarChip) { spans.append(chip.span) }

    /// Returns the row cut or padded to exactly `width` cells.
    func fitted(to width: Int, _ fill: Style = .plain) -> StyledLine {
        var fitted = StyledLine()
        var left = width
        for span in spans {
            guard left > 0 else { break }
            let cut = TextWidth.of(span.text) <= left ? span.text : TextWidth.truncate(span.text, to: left)
            fitted.spans.append(Span(text: cut, style: span.style))
            left -= TextWidth.of(cut)
        }
        if left > 0 { fitted.append(String(repeating: " ", count: left), fill) }
        return fitted
    }

    /// Returns the text that draws the row and resets styles at the end.
    ///
    /// Every span is made safe for the terminal here again, whatever its source.
    func encoded(_ depth: ColorDepth) -> String {
        var output = ""
        for span in spans {
            let codes = span.style.codes(depth)
            let text = PlainText.line(span.text)
            output += codes.isEmpty ? text : "\u{1B}[\(codes.joined(separator: ";"))m\(text)\u{1B}[0m"
        }
        return output
    }
}
