import Foundations
import WireProtocol

/// A result: a measured number with its goal.
struct BenchResult: Sendable {
    enum Goal: Sendable {
        case atLeast(Double)
        case below(Double)
    }

    /// The stable name, for scripts.
    let name: String
    let value: Double
    let unit: String
    let goal: Goal?

    /// True if the goal is met or there is none.
    var isMet: Bool {
        switch goal {
        case .atLeast(let least)?: value >= least
        case .below(let bound)?: value < bound
        case nil: true
        }
    }

    /// The result as JSON: `{"figure":…,"value":…,"unit":…,"goal":…}`.
    var json: String {
        let goal: String
        switch self.goal {
        case .atLeast(let number)?, .below(let number)?: goal = Self.text(number, 3, trimmed: true)
        case nil: goal = "null"
        }
        let name = JSON.string(self.name).text
        let unit = JSON.string(self.unit).text
        return "{\"figure\":\(name),\"value\":\(Self.text(value, 3, trimmed: true)),\"unit\":\(unit),\"goal\":\(goal)}"
    }

    /// The result as a line, such as `send_ratio_16  0.74  goal ≥ 0.6  met`.
    var line: String {
        let padded = TextWidth.fit(name, to: 26) + " " + Self.text(value, 2) + (unit == "ratio" ? "" : " \(unit)")
        switch goal {
        case .atLeast(let least)?:
            return "\(TextWidth.fit(padded, to: 42))goal ≥ \(Self.text(least, 2))  \(isMet ? "met" : "MISSED")"
        case .below(let bound)?:
            return "\(TextWidth.fit(padded, to: 42))goal < \(Self.text(bound, 2)) \(unit)  \(isMet ? "met" : "MISSED")"
        case nil: return padded
        }
    }

    /// Returns a number with the given decimal digits; `trimmed` removes zeros at the end.
    static func text(_ number: Double, _ digits: Int, trimmed: Bool = false) -> String {
        guard digits > 0 else { return String(Int(number.rounded())) }
        var scale = 1
        for _ in 0..<digits { scale *= 10 }
        let scaled = Int((number * Double(scale)).rounded())
        let whole = abs(scaled) / scale
        var fraction = String(abs(scaled) % scale)
        fraction = String(repeating: "0", count: digits - fraction.count) + fraction
        while trimmed, fraction.hasSuffix("0") { fraction.removeLast() }
        return (scaled < 0 ? "-" : "") + String(whole) + (fraction.isEmpty ? "" : "." + fraction)
    }
}
