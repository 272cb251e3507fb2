package import FoundationEssentials

// `Int64(_: Double)` traps beyond the range of `Int64`, and a client may have chosen the number. These conversions do
// not trap; `scripts/lint-hand` rejects the others.

extension Duration {
    /// Returns the number of whole units, rounded toward zero and clamped to the range of `Int64`.
    package func count(of unit: Duration) -> Int64 {
        Int64(exactly: (self / unit).rounded(.towardZero)) ?? (self < .zero ? .min : .max)
    }
}

extension Date {
    /// Whole seconds since 1970, rounded down and clamped to the range of `Int64`.
    package var wholeSeconds: Int64 {
        let seconds = timeIntervalSince1970.rounded(.down)
        return Int64(exactly: seconds) ?? (seconds < 0 ? .min : .max)
    }
}
