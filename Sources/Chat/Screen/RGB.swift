/// A colour of red, green and blue.
struct RGB: Sendable, Equatable {
    let red: Int
    let green: Int
    let blue: Int

    init(_ red: Int, _ green: Int, _ blue: Int) {
        self.red = red
        self.green = green
        self.blue = blue
    }

    /// Parses `#e4572e`. Nil if the text is no such colour.
    init?(hex: String) {
        guard hex.utf8.count == 7, hex.hasPrefix("#"), let value = Int(hex.dropFirst(), radix: 16), value >= 0 else {
            return nil
        }
        self.init(value >> 16, value >> 8 & 0xFF, value & 0xFF)
    }

    /// True if dark letters are more readable on it than light ones.
    var isLight: Bool { 299 * red + 587 * green + 114 * blue > 140_000 }

    /// The nearest of the 256 standard colours, from the 6 × 6 × 6 cube or the greys.
    var indexed: Int {
        let levels = [0, 95, 135, 175, 215, 255]
        func nearest(_ value: Int) -> Int {
            levels.indices.min { abs(levels[$0] - value) < abs(levels[$1] - value) } ?? 0
        }
        let (r, g, b) = (nearest(red), nearest(green), nearest(blue))
        let grey = min(23, max(0, ((red + green + blue) / 3 - 3) / 10))
        let cube = RGB(levels[r], levels[g], levels[b])
        let isGreyNearer = distance(to: RGB(8 + 10 * grey, 8 + 10 * grey, 8 + 10 * grey)) < distance(to: cube)
        return isGreyNearer ? 232 + grey : 16 + 36 * r + 6 * g + b
    }

    private func distance(to other: RGB) -> Int {
        let (red, green, blue) = (red - other.red, green - other.green, blue - other.blue)
        return red * red + green * green + blue * blue
    }
}

/// The styles that a terminal supports.
enum ColorDepth: Sendable {
    /// No styles: the output is a file or a program.
    case none
    /// Bold, dim and inverse, and no colours.
    case monochrome
    /// 256 colours.
    case indexed
    /// All colours.
    case full
}
