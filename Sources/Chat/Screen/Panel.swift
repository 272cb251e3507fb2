import Foundations
import Postline

/// A panel over the conversations until the next key. It scrolls if it is higher than the screen.
struct Panel: Sendable, Equatable {
    private let lines: [StyledLine]
    private var top = 0

    /// Creates a panel with a row for each element.
    init<Element>(_ elements: [Element], _ row: (Element) -> StyledLine) { lines = elements.map(row) }

    private init(lines: [StyledLine]) { self.lines = lines }

    /// Creates a panel with all of the user's own data.
    init(_ me: Me, chip: AvatarChip, width: Int) {
        let labelWidth = 13
        lines = me.fields.flatMap { field in
            var label = StyledLine("  ")
            label.append(TextWidth.fit(field.label, to: labelWidth), .dim)
            guard let value = field.value else {
                label.append("-", .dim)
                return [label]
            }
            if field.label == "avatar" {
                label.append(chip)
                label.append(" ")
            }
            let texts = PlainText.lines(value).flatMap { TextWidth.wrap($0, to: width - labelWidth - 7) }
            return texts.enumerated().map { index, text in
                var line = index == 0 ? label : StyledLine(String(repeating: " ", count: labelWidth + 2))
                line.append(text)
                return line
            }
        }
    }

    /// The commands and the keys, in groups.
    static var help: Panel {
        Panel(
            lines: (Help.commands + [Help.keys]).enumerated().flatMap { index, group in
                (index > 0 ? [StyledLine()] : []) + [StyledLine(" \(group.title)", .color(.green, bold: true))]
                    + group.rows.map { row in
                        var line = StyledLine("  ")
                        line.append(TextWidth.fit(row.usage, to: Help.usageWidth), .bold)
                        line.append(row.meaning)
                        return line
                    }
            })
    }

    /// Handles a scrolling key. Returns false for other keys, or if all rows are visible.
    mutating func scroll(_ key: Key, height: Int) -> Bool {
        let lowest = lines.count - height
        guard lowest > 0 else { return false }
        switch key {
        case .up: top = max(0, top - 1)
        case .down: top = min(lowest, top + 1)
        case .pageUp: top = max(0, top - height + 1)
        case .pageDown: top = min(lowest, top + height - 1)
        default: return false
        }
        return true
    }

    /// Returns the visible rows.
    func rows(height: Int) -> [StyledLine] {
        // The screen may have grown beyond the end.
        var shown = Array(lines.dropFirst(min(top, max(0, lines.count - height))).prefix(height))
        if lines.count > height, top < lines.count - height {
            shown[shown.count - 1] = StyledLine("  ↓ more below", .color(.yellow))
        }
        return shown + Array(repeating: StyledLine(), count: height - shown.count)
    }
}
