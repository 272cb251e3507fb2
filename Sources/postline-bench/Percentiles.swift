/// Durations in order of length, to be asked for any percentile: exact, since all are kept.
struct Percentiles: Sendable {
    private let sorted: [Duration]

    init(_ durations: [Duration]) { sorted = durations.sorted() }

    var count: Int { sorted.count }

    /// The least duration that `percent` of all do not exceed, in milliseconds; nil where there are none.
    func milliseconds(_ percent: Double) -> Double? {
        guard !sorted.isEmpty else { return nil }
        let rank = Int((percent / 100 * Double(sorted.count)).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1] / .milliseconds(1)
    }

    /// Such as `1.35`, for a table.
    func text(_ percent: Double) -> String { BenchFigure.text(milliseconds(percent) ?? 0, 2) }
}

/// The middle of some numbers; of two in the middle, their mean. Nil where there are none.
func median(_ numbers: [Double]) -> Double? {
    guard !numbers.isEmpty else { return nil }
    let sorted = numbers.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
