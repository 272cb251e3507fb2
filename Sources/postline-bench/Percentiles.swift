/// Sorted durations with exact percentiles, since all are kept.
struct Percentiles: Sendable {
    private let sorted: [Duration]

    init(_ durations: [Duration]) { sorted = durations.sorted() }

    var count: Int { sorted.count }

    /// Returns the least duration that `percent` of all do not exceed, in milliseconds, or nil if there are none.
    func milliseconds(_ percent: Double) -> Double? {
        guard !sorted.isEmpty else { return nil }
        let rank = Int((percent / 100 * Double(sorted.count)).rounded(.up))
        return sorted[min(max(rank, 1), sorted.count) - 1] / .milliseconds(1)
    }

    /// Returns a percentile for a table, such as `1.35`.
    func text(_ percent: Double) -> String { BenchResult.text(milliseconds(percent) ?? 0, 2) }
}

/// Returns the median, or nil for no numbers.
func median(_ numbers: [Double]) -> Double? {
    guard !numbers.isEmpty else { return nil }
    let sorted = numbers.sorted()
    let middle = sorted.count / 2
    return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
}
