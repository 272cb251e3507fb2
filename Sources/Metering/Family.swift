/// All series of one name with different labels, and their text form.
struct Family: Sendable {
    enum Kind: String {
        case counter, gauge, histogram
    }

    let kind: Kind
    var series: [Labels: any AnyObject & Sendable] = [:]

    init(kind: Kind) { self.kind = kind }

    func write(to text: inout String, name: String, help: String?) {
        if let help { text += "# HELP \(name) \(Labels.escaped(help))\n" }
        text += "# TYPE \(name) \(kind.rawValue)\n"
        for (labels, series) in series.sorted(by: { $0.key < $1.key }) {
            switch series {
            case let counter as CounterSeries: text += "\(name)\(labels.text) \(counter.value)\n"
            case let gauge as GaugeSeries: text += "\(name)\(labels.text) \(Self.number(gauge.value))\n"
            case let histogram as HistogramSeries: write(histogram, to: &text, name: name, labels)
            default: break
            }
        }
    }

    private func write(_ histogram: HistogramSeries, to text: inout String, name: String, _ labels: Labels) {
        let counts = histogram.cumulative
        for (bound, count) in zip(histogram.bounds.map(Self.number) + ["+Inf"], counts) {
            text += "\(name)_bucket\(labels.adding("le", bound).text) \(count)\n"
        }
        text += "\(name)_sum\(labels.text) \(Self.number(histogram.sum))\n"
        text += "\(name)_count\(labels.text) \(counts.last ?? 0)\n"
    }

    /// Returns the number without a decimal point if whole, and Prometheus's words for infinities and NaN.
    private static func number(_ value: Double) -> String {
        if let whole = Int64(exactly: value) { return "\(whole)" }
        if value.isNaN { return "NaN" }
        if value.isInfinite { return value > 0 ? "+Inf" : "-Inf" }
        return "\(value)"
    }
}
