/// The plot of a steady run.
struct SoakPlot: Sendable {
    /// The planned length of the run.
    let minutes: Int
    let rate: Double
    let samples: [SoakSample]
    let start: SoakSample

    var multiples: SmallMultiples {
        let series = SoakSeries.all(samples, since: start)
        var charts: [SmallMultiples.Chart] = []
        // Series with the same title share a chart.
        for each in series where !charts.contains(where: { $0.title == each.title }) {
            let together = series.filter { $0.title == each.title }
            charts.append(
                SmallMultiples.Chart(
                    title: each.title, note: Self.note(together),
                    lines: together.map { each in
                        let points = zip(samples, each.values).map {
                            SmallMultiples.Point(minutes: $0.minutes, value: $1 / Self.scale(of: each))
                        }
                        return SmallMultiples.Line(name: Self.shortName(of: each), points: points)
                    }))
        }
        return SmallMultiples(
            title: "\(BenchResult.text(rate, 0)) sends a second for \(minutes) minutes",
            explanation:
                "A point is half a minute. × is the median of the last shaded sixth over that of the first one.",
            minutes: Double(minutes), shaded: shaded, charts: charts)
    }

    private var shaded: [ClosedRange<Double>] {
        let sixth = Double(minutes) / 6
        return [sixth...2 * sixth, 5 * sixth...6 * sixth]
    }

    private static func note(_ series: [SoakSeries]) -> String {
        let growths = series.compactMap { each in
            each.growth.map { growth in
                (series.count > 1 ? shortName(of: each) + " " : "") + "× \(BenchResult.text(growth, 2))"
            }
        }
        return growths.joined(separator: ", ")
    }

    /// Returns the short name of a series, such as `p99` of `send_p99`.
    private static func shortName(of each: SoakSeries) -> String {
        each.name.split(separator: "_").last.map(String.init) ?? each.name
    }

    /// Returns the divisor from the values' unit to the title's.
    private static func scale(of each: SoakSeries) -> Double {
        if each.title.hasSuffix(", ms") { return 1000 }
        return each.title.hasSuffix(", MiB") ? 1_048_576 : 1
    }
}
