/// An axis from zero to a round number, with round numbers between them.
struct ChartAxis: Sendable, Equatable {
    /// The distance of two ticks.
    let step: Double

    /// The number of steps.
    let count: Int

    var end: Double { step * Double(count) }

    /// The labelled values, including both ends.
    var ticks: [Double] { (0...count).map { step * Double($0) } }

    /// Creates the shortest axis that contains `value` in at most `steps` steps of 1, 2, 2.5 or 5 times a power of ten.
    init(holding value: Double, steps: Int = 4) {
        guard value > 0, value.isFinite else {
            step = 1
            count = 1
            return
        }
        let least = value / Double(steps)
        var power = 1.0
        while power > least { power /= 10 }
        while power * 10 <= least { power *= 10 }
        // A step is long enough if it is short only by the last digit of a Double.
        step = [1, 2, 2.5, 5, 10].map { $0 * power }.first { $0 * Double(steps) >= value * (1 - 1e-9) } ?? 10 * power
        count = max(1, Int((value / step * (1 - 1e-9)).rounded(.up)))
    }

    /// Returns the position of a value: 0 at the start, 1 at the end.
    func part(_ value: Double) -> Double { value / end }

    /// Returns a tick's label with only the digits that the step needs, and commas between thousands.
    func text(_ tick: Double) -> String {
        guard tick != 0 else { return "0" }
        var digits = 0
        var scaled = step
        while digits < 3, abs(scaled - scaled.rounded()) > 1e-6 {
            digits += 1
            scaled *= 10
        }
        let parts = BenchResult.text(tick, digits).split(separator: ".")
        var whole = ""
        for (number, digit) in (parts.first ?? "").reversed().enumerated() {
            if number > 0, number % 3 == 0, digit != "-" { whole.append(",") }
            whole.append(digit)
        }
        return String(whole.reversed()) + (parts.count > 1 ? "." + parts[1] : "")
    }
}
