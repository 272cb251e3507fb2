extension Duration {
    /// In seconds with one decimal: `1.5`.
    var tenthsOfSeconds: String {
        let tenths = Int((self / .milliseconds(100)).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
