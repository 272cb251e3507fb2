import Foundation

/// A blurred placeholder of a picture in a few characters (<https://blurha.sh>), as in
/// ``Message/Attachment/blurhash``.
public struct BlurHash: Sendable, Hashable {
    /// The number of horizontal and vertical components, each 1 to 9.
    public let columns, rows: Int

    /// The colours of the components in linear RGB. The first is the average.
    private let components: [SIMD3<Double>]

    /// Reads a BlurHash. Returns nil if the text is not valid.
    public init?(_ text: String) {
        let digits = text.utf8.map { Self.values[Int($0)] }
        guard digits.count >= 6, digits.allSatisfy({ $0 >= 0 }) else { return nil }
        let size = digits[0]
        (columns, rows) = (size % 9 + 1, size / 9 + 1)
        guard rows <= 9, digits.count == 4 + 2 * columns * rows else { return nil }
        let average = Self.number(digits[2..<6])
        guard average <= 0xFF_FFFF else { return nil }
        let maximum = Double(digits[1] + 1) / 166
        var components = [
            SIMD3(
                Self.linear(average >> 16), Self.linear(average >> 8 & 255), Self.linear(average & 255))
        ]
        for start in stride(from: 6, to: digits.count, by: 2) {
            let value = Self.number(digits[start..<start + 2])
            guard value < 19 * 19 * 19 else { return nil }
            let levels = SIMD3(Double(value / 361), Double(value / 19 % 19), Double(value % 19))
            let signed = (levels - 9) / 9
            components.append(signed * SIMD3(abs(signed.x), abs(signed.y), abs(signed.z)) * maximum)
        }
        self.components = components
    }

    /// Draws the placeholder, such as in 32 by 32 pixels to be scaled up.
    ///
    /// - Returns: Four bytes for each pixel (red, green, blue, and 255), row by row from the top. Nil unless both sides
    ///   are 1 to 1,024 pixels.
    public func pixels(width: Int, height: Int) -> [UInt8]? {
        guard 1...1_024 ~= width, 1...1_024 ~= height else { return nil }
        let horizontal = Self.cosines(width, columns)
        let vertical = Self.cosines(height, rows)
        var pixels: [UInt8] = []
        pixels.reserveCapacity(width * height * 4)
        for y in 0..<height {
            for x in 0..<width {
                var color = SIMD3<Double>.zero
                for row in 0..<rows {
                    for column in 0..<columns {
                        let basis = horizontal[x * columns + column] * vertical[y * rows + row]
                        color += components[row * columns + column] * basis
                    }
                }
                pixels += [Self.sRGB(color.x), Self.sRGB(color.y), Self.sRGB(color.z), 255]
            }
        }
        return pixels
    }

    private static func cosines(_ side: Int, _ count: Int) -> [Double] {
        (0..<side).flatMap { position in
            (0..<count).map { cos(.pi * Double(position) * Double($0) / Double(side)) }
        }
    }

    private static func number(_ digits: ArraySlice<Int>) -> Int { digits.reduce(0) { $0 * 83 + $1 } }

    private static func linear(_ value: Int) -> Double {
        let part = Double(value) / 255
        return part <= 0.04045 ? part / 12.92 : pow((part + 0.055) / 1.055, 2.4)
    }

    private static func sRGB(_ value: Double) -> UInt8 {
        let part = min(max(value, 0), 1)
        let scaled = part <= 0.0031308 ? part * 12.92 : 1.055 * pow(part, 1 / 2.4) - 0.055
        return UInt8(scaled * 255 + 0.5)
    }

    /// The digits of base 83 in ascending order.
    static let digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz#$%*+,-.:;=?@[]^_{|}~"

    /// The values of the bytes as digits, or -1.
    private static let values: [Int] = {
        var values = [Int](repeating: -1, count: 256)
        for (value, digit) in digits.utf8.enumerated() { values[Int(digit)] = value }
        return values
    }()
}
