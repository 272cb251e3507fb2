/// The plot of a steady run.
struct SteadyPlot: Sendable {
    /// The planned length of the run.
    let minutes: Int
    let rate: Double
    let samples: [SteadySample]
    let start: SteadySample

    var multiples: SmallMultiples {
        let courses = SteadyCourse.all(samples, since: start)
        var charts: [SmallMultiples.Chart] = []
        // Series with the same title share a chart.
        for course in courses where !charts.contains(where: { $0.title == course.title }) {
            let together = courses.filter { $0.title == course.title }
            charts.append(
                SmallMultiples.Chart(
                    title: course.title, note: Self.note(together),
                    lines: together.map { course in
                        let points = zip(samples, course.values).map {
                            SmallMultiples.Point(minutes: $0.minutes, value: $1 / Self.scale(of: course))
                        }
                        return SmallMultiples.Line(name: Self.shortName(of: course), points: points)
                    }))
        }
        return SmallMultiples(
            title: "\(BenchFigure.text(rate, 0)) sends a second for \(minutes) minutes",
            explanation:
                "A point is half a minute. × is the median of the last shaded sixth over that of the first one.",
            minutes: Double(minutes), shaded: shaded, charts: charts)
    }

    private var shaded: [ClosedRange<Double>] {
        let sixth = Double(minutes) / 6
        return [sixth...2 * sixth, 5 * sixth...6 * sixth]
    }

    private static func note(_ courses: [SteadyCourse]) -> String {
        let growths = courses.compactMap { course in
            course.growth.map { growth in
                (courses.count > 1 ? shortName(of: course) + " " : "") + "× \(BenchFigure.text(growth, 2))"
            }
        }
        return growths.joined(separator: ", ")
    }

    /// Returns the short name of a series, such as `p99` of `send_p99`.
    private static func shortName(of course: SteadyCourse) -> String {
        course.name.split(separator: "_").last.map(String.init) ?? course.name
    }

    /// Returns the divisor from the values' unit to the title's.
    private static func scale(of course: SteadyCourse) -> Double {
        if course.title.hasSuffix(", ms") { return 1000 }
        return course.title.hasSuffix(", MiB") ? 1_048_576 : 1
    }
}
