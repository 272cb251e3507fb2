internal import Messaging
internal import TerminalText

/// One measured number, with what is expected of it.
struct BenchFigure: Sendable {
    enum Goal: Sendable {
        case atLeast(Double)
        case below(Double)
    }

    /// Its stable name, for scripts.
    let name: String
    let value: Double
    let unit: String
    let goal: Goal?

    /// Whether the goal is met; true where there is none.
    var isMet: Bool {
        switch goal {
        case .atLeast(let least)?: value >= least
        case .below(let bound)?: value < bound
        case nil: true
        }
    }

    /// `{"figure":…,"value":…,"unit":…,"goal":…}`.
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

    /// Such as `send_ratio_16  0.74  goal ≥ 0.6  met`.
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

    /// A number with so many digits behind the point; with `trimmed`, without zeros at the end.
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
