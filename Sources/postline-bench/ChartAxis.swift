/// An axis from zero to a round number, with round numbers between them.
struct ChartAxis: Sendable, Equatable {
    /// From one mark to the next.
    let step: Double

    /// How many steps there are.
    let count: Int

    var end: Double { step * Double(count) }

    /// The numbers that are written beside the axis, its ends among them.
    var ticks: [Double] { (0...count).map { step * Double($0) } }

    /// The shortest axis that holds `value`, in at most so many steps of 1, 2, 2.5 or 5 times a power of
    /// ten.
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
        // A step that is too short by no more than the last digit of a Double is not too short.
        step = [1, 2, 2.5, 5, 10].map { $0 * power }.first { $0 * Double(steps) >= value * (1 - 1e-9) } ?? 10 * power
        count = max(1, Int((value / step * (1 - 1e-9)).rounded(.up)))
    }

    /// Where a value is between the ends: 0 at the start, 1 at the end.
    func part(_ value: Double) -> Double { value / end }

    /// A tick as it is written: no more digits than the step needs, thousands apart by commas.
    func text(_ tick: Double) -> String {
        guard tick != 0 else { return "0" }
        var digits = 0
        var scaled = step
        while digits < 3, abs(scaled - scaled.rounded()) > 1e-6 {
            digits += 1
            scaled *= 10
        }
        let parts = BenchFigure.text(tick, digits).split(separator: ".")
        var whole = ""
        for (number, digit) in (parts.first ?? "").reversed().enumerated() {
            if number > 0, number % 3 == 0, digit != "-" { whole.append(",") }
            whole.append(digit)
        }
        return String(whole.reversed()) + (parts.count > 1 ? "." + parts[1] : "")
    }
}
